"""Ways in: name and password, or a link that works once.

request -> signed-in session, or a page that says why not.  Touches: sessions.
"""

from django.contrib.auth import views as auth_views
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from sesame.views import LoginView as SesameLoginView


class SignIn(auth_views.LoginView):
    template_name = "chat/login.html"
    redirect_authenticated_user = True


@method_decorator(never_cache, name="dispatch")
class OneTimeLink(SesameLoginView):  # type: ignore[misc]  # sesame has no types
    """`/enter/?sesame=…&next=…`: the link from the terminal."""

    def login_failed(self) -> HttpResponseBase:
        """A used link harms nobody who is signed in already; others are told how to get a new one."""
        if self.request.user.is_authenticated:
            return redirect(self.get_success_url())
        return render(self.request, "chat/link_used.html", status=403)

    def login_success(self) -> HttpResponse:
        response: HttpResponse = super().login_success()
        # The token must not travel on in a Referer header.
        response["Referrer-Policy"] = "no-referrer"
        return response
