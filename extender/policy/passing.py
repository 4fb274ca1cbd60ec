"""Who may start before the holder of the reservation (docs/policies/reservation.md).

A job may pass if it is gone when the holder starts, or if the holder starts then in spite of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from extender.policy.reservation import Reservation, Seat
from extender.policy.room import Room
from shared.model import PodShape

Seats = Sequence[tuple[PodShape, int]]
"""Pods by shape, with the index of the node of each."""


def gone_in_time(reservation: Reservation, now: float, lasts_seconds: float | None) -> bool:
    """Say whether a job that starts now has ended when the holder starts; no if that is unknown."""
    start = reservation.starts_at
    return start is not None and lasts_seconds is not None and now + lasts_seconds <= start


def open_room(reservation: Reservation, room: Room) -> Room:
    """Return what a job may use that stays longer: free now, and not needed by the holder then."""
    pairs = zip(room.ports, reservation.room.ports, strict=True)
    return room.replaced(
        used=np.maximum(room.used, reservation.room.used),
        ports=tuple(now | then for now, then in pairs),
    )


def with_pods(reservation: Reservation, seats: Seats) -> Reservation:
    """Return the reservation beside pods that stay, where they leave its seats free."""
    before, room = reservation.before, reservation.room
    return replace(reservation, before=before.with_pods(seats), room=room.with_pods(seats))


def beside(reservation: Reservation, seats: Seats, seat: Seat) -> Reservation | None:
    """Return the reservation with its seats chosen anew beside pods that stay.

    None if the holder would not fit at its start any more: these pods must not pass.
    """
    before = reservation.before.with_pods(seats)
    room = seat(before)
    return None if room is None else replace(reservation, before=before, room=room)
