"""Count what a reply took: the endpoint's own numbers, estimates where it gives none, and the price.

request body, Reply -> Reply with its TokenUse complete.  Touches: what is learnt of each model's token counts.
"""

from dataclasses import replace

from django.utils.translation import gettext as _

from chat import tokens
from chat.llm import price
from chat.llm.endpoint import Endpoint
from chat.types import Json, Reply, TokenUse

_SILENT_CUT = 0.6  # a prompt counted below this share of what was sent has lost its beginning
_SHORT = 500  # tokens; templates and rounding hide a cut in less


def account(body: Json, reply: Reply, endpoint: Endpoint, spent: TokenUse, *, is_free: bool) -> Reply:
    """spent: what replies to the same request took that were thrown away."""
    model, notes = endpoint.model, list(reply.notes)
    sent = tokens.estimate_request(body["messages"], body.get("tools", ()))
    use = reply.usage
    if not use.prompt:
        use = replace(use, prompt=round(sent * tokens.factor(model)), estimated=True)
    elif sent > _SHORT and use.prompt < _SILENT_CUT * sent * min(1.0, tokens.factor(model)):
        lost = _(
            "The endpoint counted %(counted)d prompt tokens where about %(sent)d were sent: "
            "it may have cut off the beginning without saying so."
        )
        notes.append(lost % {"counted": use.prompt, "sent": sent})
    else:
        tokens.learn(model, sent, use.prompt)
    if not use.reply:
        said = [reply.text, reply.reasoning, *(call.arguments for call in reply.calls)]
        use = replace(use, reply=sum(tokens.estimate(text, model) for text in said if text), estimated=True)
    use = both(spent, use)
    use = replace(use, cost=price.cost(use, model=model, base_url=endpoint.base_url, is_free=is_free))
    return replace(reply, usage=use, model=reply.model or model, notes=tuple(notes))


def both(one: TokenUse, other: TokenUse) -> TokenUse:
    """Two uses as one; the price is left to be worked out."""
    return TokenUse(
        prompt=one.prompt + other.prompt,
        reply=one.reply + other.reply,
        cached=one.cached + other.cached,
        estimated=(one.estimated and bool(one.prompt)) or other.estimated,
    )
