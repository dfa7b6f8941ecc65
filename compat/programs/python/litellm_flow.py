"""Drives the limiter of LiteLLM's proxy on the server in REDIS_PORT as the proxy does, around completions
that answer from memory: keys with limits on requests, tokens and parallel calls, of a user and a team. Calls
are denied, fail, and take less than was reserved."""

import asyncio
import os
import sys
import types

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it downloads a list of prices
# The limiter asks the proxy's main module for router and settings. That module imports many packages more.
sys.modules["litellm.proxy.proxy_server"] = types.SimpleNamespace(llm_router=None, general_settings={})

import litellm
from fastapi import HTTPException
from litellm.caching import DualCache, RedisCache
from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.hooks.parallel_request_limiter_v3 import _PROXY_MaxParallelRequestsHandler_v3
from litellm.proxy.utils import InternalUsageCache

cache = DualCache(redis_cache=RedisCache(host="127.0.0.1", port=int(os.environ["REDIS_PORT"])))
limiter = _PROXY_MaxParallelRequestsHandler_v3(InternalUsageCache(cache))
litellm.callbacks = [limiter]
litellm.suppress_debug_info = True
made = 0


async def call(key, fails=False):
    global made
    made += 1
    metadata = {"user_api_key": key.api_key, "user_api_key_user_id": key.user_id,
                "user_api_key_team_id": key.team_id}
    data = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 60,
            "litellm_call_id": f"call-{made}", "metadata": metadata}
    try:
        await limiter.async_pre_call_hook(key, cache, data, "acompletion")
    except HTTPException as e:
        return e.status_code
    try:
        answer = await litellm.acompletion(**data, mock_response=Exception("down") if fails else "hello")
    except litellm.InternalServerError as e:
        await limiter.async_post_call_failure_hook(data, e, key)
        return 500
    await limiter.async_post_call_success_hook(data, key, answer)
    return 200


async def say(name, *calls):
    print(name, *sorted(await asyncio.gather(*calls)))
    await GLOBAL_LOGGING_WORKER.flush()  # tokens are counted behind the answer


async def main():
    key = UserAPIKeyAuth(api_key="a" * 64, rpm_limit=4, user_id="u", user_rpm_limit=9, team_id="t",
                         team_rpm_limit=9)
    for _ in range(6):
        await say("requests", call(key))
    key = UserAPIKeyAuth(api_key="b" * 64, tpm_limit=100, team_id="u", team_tpm_limit=1000)
    for _ in range(8):
        await say("tokens", call(key))
    key = UserAPIKeyAuth(api_key="c" * 64, tpm_limit=100)
    for _ in range(6):
        await say("failing", call(key, fails=True))
    key = UserAPIKeyAuth(api_key="d" * 64, max_parallel_requests=2)
    for _ in range(2):
        await say("parallel", *[call(key) for _ in range(5)])


asyncio.run(main())
