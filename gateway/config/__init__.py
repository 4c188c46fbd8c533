"""The configuration: every setting as a frozen value, read from one YAML file, with every mistake named."""

from gateway.config.channels import (
    Account,
    Binding,
    ChannelsConfig,
    DiscordAccount,
    GroupOverride,
    GroupPolicy,
    PrivatePolicy,
    SlackAccount,
    TelegramAccount,
)
from gateway.config.loading import default_config, load_config
from gateway.config.models import AgentConfig, Config, ModelConfig, SessionsConfig
from gateway.config.place_checks import absent, model_folder

__all__ = [
    "Account",
    "AgentConfig",
    "Binding",
    "ChannelsConfig",
    "Config",
    "DiscordAccount",
    "GroupOverride",
    "GroupPolicy",
    "ModelConfig",
    "PrivatePolicy",
    "SessionsConfig",
    "SlackAccount",
    "TelegramAccount",
    "absent",
    "default_config",
    "load_config",
    "model_folder",
]
