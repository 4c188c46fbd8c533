"""Discord: gateway and API payloads to and from the vocabulary; the SDK is imported by `client` alone."""
