"""The HTTP client of one session: its headers, and a count of what comes.

Spec, Flow -> client.  Touches: the server's address, which staff registered and which may be local.
"""

from collections.abc import AsyncIterator

import httpx2 as httpx

from chat.mcp.types import Flow, Spec

CONNECT = 10.0  # seconds


def client_for(spec: Spec, flow: Flow) -> httpx.AsyncClient:
    # Packed answers are not asked for: a small one may unpack to any size.
    headers = {"accept-encoding": "identity", **spec.secrets}
    timeout = httpx.Timeout(CONNECT, read=None)  # the caller's own time is the limit; a stream may be silent for long
    return httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=False, transport=_Counting(flow))


class _Counting(httpx.AsyncHTTPTransport):
    def __init__(self, flow: Flow) -> None:
        super().__init__(trust_env=False)
        self.flow = flow

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx.DecodingError("The answer is packed.", request=request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Counted(response.stream, self.flow)
        return response


class _Counted(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, flow: Flow) -> None:
        self.inner, self.flow = inner, flow

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner:
            self.flow.came(len(chunk))
            if self.flow.over:
                raise httpx.ReadError(self.flow.over)
            yield chunk

    async def aclose(self) -> None:
        await self.inner.aclose()
