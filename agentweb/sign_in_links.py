"""Links that sign somebody in once: for the person, and for the staff user.

base URL -> links.  Touches: the two users, made when missing.
"""

from django.contrib.auth.models import User
from sesame.utils import get_query_string


def links(base: str) -> tuple[str, str]:
    """The person's and the staff user's link."""
    person, _made = User.objects.get_or_create(username="you")
    staff, made = User.objects.get_or_create(username="admin", defaults={"is_staff": True, "is_superuser": True})
    if made:
        staff.set_unusable_password()
        staff.save()
    return f"{base}/enter/{get_query_string(person)}", f"{base}/enter/{get_query_string(staff)}&next=/admin/"
