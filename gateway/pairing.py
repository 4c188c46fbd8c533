"""Pairing codes: how an unknown sender becomes a person, or the first owner."""

import asyncio
import hmac
import logging
import math
import secrets
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Literal

from adapters.base import Chat, Choice
from gateway.access import Standing
from gateway.inbox import Owners, PairingRequest, Part
from gateway.people import People
from gateway.store import Guesses, KnownPerson, PendingPairing, Store
from memory.clock import Clock

log = logging.getLogger(__name__)

CODE_LENGTH = 8
CODE_SECONDS = 3_600
MAX_WRONG = 5
REMEMBERED_CODES = 100
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without the letters and digits that are taken for one another


class PairingRefused(Exception):
    """A code was not accepted; the sentence says why."""


class Pairing:
    """Makes codes and takes the owner's answers. Wrong codes are counted in the store, so that a restart forgives none."""

    def __init__(self, store: Store, people: People, clock: Clock) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._served: deque[str] = deque(maxlen=REMEMBERED_CODES)
        self._one_guess_at_a_time = asyncio.Lock()  # side by side, many wrong codes would count as one

    def request(self, chat: Chat, *, owners: Owners) -> PairingRequest:
        """Return a new code, and the one message that tells an unknown sender about it.

        `owners` are those of whom one may be told that somebody waits.
        """
        code = "".join(secrets.choice(_ALPHABET) for _ in range(CODE_LENGTH))
        if self._people.has_owner:
            text = f"I do not know you yet. My owner can let you in with this code, within the hour: `{code}`"
        else:
            text = (
                "I do not know you yet, and I have no owner. If I am yours, type this where I run, within the hour:\n\n"
                f"`scrubjay pair approve {code} --owner`"
            )
        expires = self._clock.now().timestamp() + CODE_SECONDS
        told = (Part(chat=chat, text=text, purpose="pairing"),)
        if not self._people.has_owner:
            return PairingRequest(code, expires, told)
        return PairingRequest(code, expires, told, owners, partial(_notice, chat))

    async def pending(self) -> list[PendingPairing]:
        """Return the codes that wait, oldest first."""
        return await self._store.pairings()

    async def approve(self, code: str, standing: Literal["owner", "person"]) -> tuple[PendingPairing, Standing]:
        """Let the sender of a code in and tell them; return who it was and what they are now.

        An owner stays an owner. Raises `PairingRefused` with a sentence.
        """
        pairing = await self._find(code)
        if self._people.standing(pairing.platform, pairing.sender) == "owner":
            standing = "owner"
        elif standing == "owner" and self._people.is_linked(pairing.platform, pairing.sender):
            raise PairingRefused(
                f"{pairing.platform} {pairing.sender} stands under `people:` in scrubjay.yaml. "
                "To make an owner of them, move the id to `owner:` there, and start me again."
            )
        chat = Chat(pairing.platform, pairing.account, pairing.chat)  # type: ignore[arg-type]
        welcome = "You are in. What can I do for you?" if standing == "person" else "From now on I am yours. Hello!"
        await self._store.approve(pairing, standing, [Part(chat=chat, text=welcome, purpose="notice")])
        self._served.append(pairing.code)
        log.info("let in", extra={"action": "let_in", "standing": standing} | _ids(pairing))
        self._people.add(KnownPerson(pairing.platform, pairing.sender, standing, pairing.name))
        return pairing, standing

    async def reject(self, code: str) -> PendingPairing:
        """Forget a code; raises `PairingRefused` with a sentence."""
        pairing = await self._find(code)
        await self._store.reject(pairing)
        self._served.append(pairing.code)
        log.info("not let in", extra={"action": "rejected"} | _ids(pairing))
        return pairing

    async def _find(self, code: str) -> PendingPairing:
        async with self._one_guess_at_a_time:
            return await self._guess(code)

    async def _guess(self, code: str) -> PendingPairing:
        now = self._clock.now().timestamp()
        guesses = await self._store.guesses()
        left = guesses.locked_until - now
        if 0 < left <= CODE_SECONDS:  # no lock is longer; one that seems so was made before the clock was set back
            minutes = math.ceil(left / 60)
            raise PairingRefused(f"Too many wrong codes, so I look at none for now. Try again in {minutes} min.")
        found = _match(code.strip().upper(), await self._store.pairings())
        if found is not None:
            return found
        if code.strip().upper() in self._served:  # pressed or sent twice, and no guess
            raise PairingRefused("Nobody waits with that code any more: it has served. `/pair list` shows who waits.")
        wrong = guesses.wrong + 1
        locked = now + CODE_SECONDS if wrong >= MAX_WRONG else 0.0
        await self._store.set_guesses(Guesses(0 if locked else wrong, locked))
        raise PairingRefused("Nobody waits with that code. Codes are good for an hour; `/pair list` shows who waits.")


def _notice(asked: Chat, waiting: int, chat: Chat) -> Part:
    """Return what an owner is told: nothing of it is chosen by a stranger, and it has no code, which they have to bring."""
    where = f"on {asked.platform}/{asked.account}"
    who = (
        f"Somebody whom I do not know wrote to me {where} and waits"
        if waiting == 1
        else f"{waiting} people whom I do not know wrote to me, the last one {where}, and wait"
    )
    text = f"{who} to be let in. `/pair list` shows who; let in only those who tell you their code themselves."
    return Part(chat, text, purpose="notice", choices=(Choice("Who waits?", "/pair list"),))


def _match(code: str, pending: Sequence[PendingPairing]) -> PendingPairing | None:
    """Compare with every code in constant time, so that the time taken tells nothing."""
    found = None
    for pairing in pending:
        if hmac.compare_digest(pairing.code.encode(), code.encode()):
            found = pairing
    return found


def _ids(pairing: PendingPairing) -> dict[str, str]:
    """Name somebody in the log by ids alone; a code is never written there."""
    return {"account": f"{pairing.platform}/{pairing.account}", "sender": pairing.sender}
