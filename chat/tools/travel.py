"""The travel pack, with local data for demonstrations and tests: weather, hotels, bookings.

city, dates -> weather, hotels; a booking.  Touches: bookings.json in the conversation's workspace.
"""

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from django.utils.translation import gettext, gettext_noop, ngettext
from pydantic import Field, field_validator

from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from chat.tools.dates import read_date

CITY = {"xi'an": "Xi'an", "xian": "Xi'an", "xi’an": "Xi'an", "xi an": "Xi'an", "西安": "Xi'an", "西安市": "Xi'an"}


def _coming_october(today: dt.date) -> int:
    """The year of the local data: a trip lies ahead, whenever the product is tried."""
    return today.year + (today > dt.date(today.year, 10, 1))


YEAR = _coming_october(dt.date.today())
DAYS = (dt.date(YEAR, 10, 1), dt.date(YEAR, 10, 2))
WEATHER = {
    DAYS[0]: {"condition": "rain", "temperature_c": 14},
    DAYS[1]: {"condition": "sunny", "temperature_c": 21},
}
HOTELS: tuple[dict[str, Any], ...] = (
    {"hotel_id": "XA-204", "name": "Bell Tower Hotel", "prices": {"suite": 980, "standard": 520}},
    {"hotel_id": "XA-102", "name": "Grand Tang Hotel", "prices": {"suite": 1180, "standard": 610}},
    {"hotel_id": "XA-317", "name": "City Wall Inn", "prices": {"standard": 330}},
)
DATE = Field(description=f"YYYY-MM-DD; known: {DAYS[0]}, {DAYS[1]}")
Room = Literal["suite", "standard"]
ROOMS = {"suite": gettext_noop("suite"), "standard": gettext_noop("standard room")}


def _ahead(value: Any) -> Any:
    """A trip lies ahead: of a date gone by, its day and month in the year of the data. Models guess the year."""
    try:
        found = dt.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value
    past = isinstance(found, dt.date) and found < dt.date.today() and (found.month, found.day) != (2, 29)
    return found.replace(year=YEAR) if past else value


class _Dated(Args):
    @field_validator("date", "date_from", mode="before", check_fields=False)
    @classmethod
    def _read(cls, value: Any) -> Any:
        return _ahead(read_date(value, year=YEAR))

    @field_validator("date_from", check_fields=False)
    @classmethod
    def _known(cls, value: dt.date) -> dt.date:
        """A small model takes the year from its training; a booking for it would be worth nothing."""
        if value.year != YEAR:
            raise ValueError(f"the year is {YEAR}, such as {DAYS[0]}")
        return value


class WeatherArgs(_Dated):
    city: str = Field(max_length=80)
    date: dt.date = DATE


class SearchArgs(_Dated):
    city: str = Field(max_length=80)
    date_from: dt.date = Field(description=f"first night, YYYY-MM-DD, year {YEAR}")
    nights: int = Field(1, ge=1, le=30)


class BookArgs(_Dated):
    hotel_id: str = Field(description="from search_hotels", max_length=20)
    date_from: dt.date = Field(description="first night, YYYY-MM-DD")
    nights: int = Field(ge=1, le=30)
    room: Room
    wishes: list[str] = Field(
        default_factory=list, description="each wish for the room that is known about the person", max_length=5
    )


async def get_weather(args: WeatherArgs, ctx: ToolContext) -> Done:
    city = _city(args.city)
    found = WEATHER.get(args.date)
    if found is None:
        raise ToolFailed(
            f"There is no forecast for {args.date}.",
            f"Known dates: {DAYS[0]} and {DAYS[1]}.",
            "Use the known date that the task means.",
            known={"date": [str(day) for day in DAYS]},
        )
    data = {"city": city, "date": args.date.isoformat(), **found}
    return Done(data=data, summary=f"{str(found['condition']).capitalize()}, {found['temperature_c']} °C")


async def search_hotels(args: SearchArgs, ctx: ToolContext) -> Done:
    city = _city(args.city)
    hotels = [{**hotel, "city": city} for hotel in HOTELS]
    data = {"hotels": hotels, "date_from": args.date_from.isoformat(), "nights": args.nights, "currency": "CNY"}
    return Done(data=data, summary=f"{len(hotels)} hotels: " + ", ".join(str(hotel["name"]) for hotel in hotels))


async def book_hotel(args: BookArgs, ctx: ToolContext) -> Done:
    """The same idempotency key twice is one booking."""
    hotel = _hotel(args)
    order = {
        "order_id": "BK-" + hashlib.sha256(ctx.idempotency_key.encode()).hexdigest()[:8].upper(),
        "hotel": hotel["name"],
        **args.model_dump(mode="json"),
        "total": hotel["prices"][args.room] * args.nights,
        "currency": "CNY",
    }
    path = ctx.workspace / "bookings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    booked = _booked(path)
    order = booked.setdefault(ctx.idempotency_key, order)
    path.write_text(json.dumps(booked, ensure_ascii=False, indent=1), encoding="utf-8")
    return Done(data=order, summary=f"Booked: {hotel['name']}, {args.room}, order {order['order_id']}")


def _booked(path: Path) -> dict[str, Any]:
    """What is booked so far. The file is in the person's folder, where it may have been changed."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ToolFailed("bookings.json cannot be read, so nothing was booked.", next="Tell the person.")
    return found


def _city(name: str) -> str:
    city = CITY.get(name.casefold().replace(", china", "").strip())
    if city is None:
        raise ToolFailed(
            f"{name!r} is not in the data.", "Only Xi'an (西安) is.", "Use Xi'an, or tell the person.", mend=True
        )
    return city


def _hotel(args: BookArgs) -> dict[str, Any]:
    hotel = next(
        (h for h in HOTELS if args.hotel_id.casefold() in (str(h["hotel_id"]).casefold(), str(h["name"]).casefold())),
        None,
    )
    if hotel is None:
        known = [str(h["hotel_id"]) for h in HOTELS]
        raise ToolFailed(
            f"There is no hotel {args.hotel_id!r}.",
            f"Known: {', '.join(known)}.",
            "Use a hotel_id that search_hotels returned.",
            known={"hotel_id": known},
        )
    if args.room not in hotel["prices"]:
        raise ToolFailed(
            f"{hotel['name']} has no {args.room}.", next="Choose a hotel whose prices list that room.", mend=True
        )
    return hotel


def _effect(args: BookArgs) -> str:
    said = ngettext("Books a %(room)s for %(nights)s night", "Books a %(room)s for %(nights)s nights", args.nights)
    return said % {"room": gettext(ROOMS[args.room]), "nights": args.nights}


def _preview(args: BookArgs, ctx: ToolContext) -> str:
    hotel = _hotel(args)
    price = f"¥{hotel['prices'][args.room] * args.nights:,}"
    return gettext("%(hotel)s: %(price)s in all") % {"hotel": hotel["name"], "price": price}


def _object(*required: str) -> dict[str, Any]:
    return {"type": "object", "required": list(required)}


CONTRACTS = (
    Contract(
        name="get_weather",
        purpose="Look up the weather of one city on one day.",
        not_for="other days than the one given",
        args=WeatherArgs,
        run=get_weather,
        tier=Tier.READ,
        returns=_object("condition"),
        returns_empty="never empty: an unknown city or day is a failure",
        failures=(FailureMode(when="the city or day is not in the data", advice="use one that the message lists"),),
        cost="free",
        latency="milliseconds",
        repeatable=True,
        pack="travel",
        checks=({"kind": "result_matches", "schema": _object("condition")},),
    ),
    Contract(
        name="search_hotels",
        purpose="List hotels with free rooms in a city.",
        not_for="booking (book_hotel)",
        args=SearchArgs,
        run=search_hotels,
        tier=Tier.READ,
        returns=_object("hotels"),
        returns_empty='{"hotels": []}: nothing is free',
        failures=(FailureMode(when="the city is not in the data", advice="use one that the message lists"),),
        cost="free",
        latency="milliseconds",
        repeatable=True,
        pack="travel",
        checks=(
            {
                "kind": "result_matches",
                "schema": {**_object("hotels"), "properties": {"hotels": {"type": "array", "minItems": 1}}},
            },
        ),
    ),
    Contract(
        name="book_hotel",
        purpose="Book one room.",
        not_for="looking for hotels (search_hotels)",
        args=BookArgs,
        run=book_hotel,
        tier=Tier.WRITE,
        returns=_object("order_id"),
        returns_empty="never empty: a booking has an order_id",
        failures=(FailureMode(when="the hotel or room does not exist", advice="use what search_hotels returned"),),
        cost="the price of the room",
        latency="milliseconds",
        pack="travel",
        effect=_effect,
        preview=_preview,
        labels={
            "hotel_id": gettext_noop("Hotel"),
            "date_from": gettext_noop("From"),
            "nights": gettext_noop("Nights"),
            "room": gettext_noop("Room"),
            "wishes": gettext_noop("Wishes"),
        },
        checks=({"kind": "result_matches", "schema": _object("order_id")},),
        needs=("search_hotels",),
    ),
)
