"""What the living floor may raise: one root, and one leaf for each thing a caller does about it.

AgentError
├── ModelError              the model gave no answer; `sentence` is what the user may read, `str()` is for the log
│   ├── ModelUnavailable    transient: try again, not before `retry_after_seconds`
│   ├── ModelRejected       the request will be refused again as it is
│   │   ├── ContextOverflow the request is larger than the model's window
│   │   └── ModelUnusable   not this request but the settings are refused: address, name, credit
│   ├── EmptyAnswer         the model said nothing at all
│   └── ModelUnauthorized   the key is missing, wrong or not allowed to use this model
├── ToolFailed              a tool cannot do what was asked; becomes an error result for the model
├── CannotBeShown           a file is nothing that a model can look at; `str()` says why
└── NotTranscribed          what a recording says is not known; `reason` is for the model, `str()` is for the log
    └── TranscriberUnavailable   transient: try again, not before `retry_after_seconds`
"""


class AgentError(Exception):
    """The root: everything that `agents` raises on its own account."""


class ModelError(AgentError):
    """The model gave no answer. `sentence` is plain, holds no secret and no markup of a server."""

    def __init__(self, detail: str, *, sentence: str) -> None:
        super().__init__(detail)
        self.sentence = sentence


class ModelUnavailable(ModelError):
    """Overloaded, rate-limited, unreachable, or cut off in the middle: the same request may succeed later."""

    def __init__(
        self,
        detail: str,
        *,
        sentence: str = "The model cannot be reached at the moment. Please try again in a little while.",
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(detail, sentence=sentence)
        self.retry_after_seconds = retry_after_seconds


class ModelRejected(ModelError):
    """The model's server refuses this request and will refuse it again."""

    def __init__(
        self, detail: str, *, sentence: str = "The model refused this request; the owner finds the reason in the log."
    ) -> None:
        super().__init__(detail, sentence=sentence)


class ContextOverflow(ModelRejected):
    """The request does not fit the model's window."""

    def __init__(
        self, detail: str, *, sentence: str = "This conversation has become too long for the model to read in one go."
    ) -> None:
        super().__init__(detail, sentence=sentence)


class EmptyAnswer(ModelError):
    """The model's answer had nothing in it, not even its word for silence."""

    def __init__(self) -> None:
        super().__init__("the model's answer was empty", sentence="The model gave an empty answer. Please ask again.")


class ModelUnusable(ModelRejected):
    """Every request would be refused: the address, the model's name or the account has to be changed by the owner."""


class ModelUnauthorized(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""

    def __init__(
        self, detail: str, *, sentence: str = "The model does not accept our key; the owner has to check it."
    ) -> None:
        super().__init__(detail, sentence=sentence)


class ToolFailed(AgentError):
    """A tool cannot do what was asked. The sentence goes to the model as an error result."""


class CannotBeShown(AgentError):
    """A file is nothing that a model can look at; the text says why and completes "it cannot be shown: "."""


class NotTranscribed(AgentError):
    """What a recording says is not known. `reason` is plain and holds nothing that only the owner should know."""

    def __init__(
        self, detail: str, *, reason: str = "the transcriber is not set up rightly; the owner finds it in the log"
    ) -> None:
        super().__init__(detail)
        self.reason = reason


class TranscriberUnavailable(NotTranscribed):
    """The transcriber is overloaded or out of reach: the same recording may succeed later."""

    def __init__(self, detail: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(detail, reason="the transcriber cannot be reached at the moment")
        self.retry_after_seconds = retry_after_seconds
