"""What loading Telegram's client brings into memory."""

import subprocess
import sys


def test_telegram_loads_nothing_that_only_the_command_line_of_its_http_client_needs() -> None:
    code = "import sys, adapters.telegram.client; print(sorted({'rich', 'pygments', 'click'} & set(sys.modules)))"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"
