"""The proxies of the environment lead to Slack as well, and are not asked for at every request."""

from collections.abc import Mapping

from adapters.slack.proxies import Proxies


class Environment:
    """What is asked for proxies, how often it was, and which host is reached without one."""

    def __init__(self, **proxies: str) -> None:
        self.proxies = proxies
        self.asked = 0

    def __call__(self) -> Mapping[str, str]:
        self.asked += 1
        return self.proxies

    def is_direct(self, host: str) -> bool:
        return host == "inside.test"


async def test_a_proxy_is_taken_with_what_opens_it_but_for_hosts_that_are_reached_directly() -> None:
    environment = Environment(https="http://me:s%2Fecret@proxy.test:3128", http="https://tls.test")
    proxies = Proxies(proxies=environment, is_direct=environment.is_direct)

    assert await proxies.to("https://slack.test/api/") == "http://me:s%2Fecret@proxy.test:3128"
    assert await proxies.to("wss://wss.slack.test/?ticket=1") == "http://me:s%2Fecret@proxy.test:3128"
    assert await proxies.to("https://inside.test/a") is None
    assert await proxies.to("http://slack.test/api/") is None


async def test_the_way_to_a_host_is_asked_for_once_until_it_is_forgotten() -> None:
    environment = Environment(https="http://old.test:1")
    proxies = Proxies(proxies=environment, is_direct=environment.is_direct)
    for path in ("a", "b"):
        await proxies.to(f"https://slack.test/{path}")
    before = environment.asked
    environment.proxies = {"https": "http://new.test:2"}
    proxies.forget()

    assert (before, await proxies.to("https://slack.test/c")) == (1, "http://new.test:2")
