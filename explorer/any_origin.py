"""What lets a browser show an answer of the API to a page of any origin."""

EXPOSED = "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-ID"
# `*` without credentials: the key is in the request itself, and a cookie counts nothing.
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "api-key, authorization, content-type, idempotency-key",
    "Access-Control-Max-Age": "86400",
}
