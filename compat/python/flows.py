"""The limiters of the five documents, as redis-py users write them.

Each flow is a function (client, key, instants) that yields one (instant, decision, details) per instant. Instants are
unix milliseconds and the only source of time. Commands, their order and their units are the documents'; nothing is
repaired here, since what is compared is the server's answer to exactly these commands. The reads that fill `details`
come after a decision and are not part of the limiter.
"""

from hashlib import sha1

from redis.exceptions import NoScriptError, ResponseError

ALLOW, DENY = "allowed", "denied"

# The first document's script: milliseconds, no EXPIRE, strings as replies. The score goes through tostring and the
# member does not, so the two are formatted by different rules once an instant has more than 14 digits.
MILLIS_SCRIPT = """
local key, now = KEYS[1], tonumber(ARGV[1])
local window, threshold = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
if redis.call('ZCARD', key) >= threshold then
  return tostring(0)
end
redis.call('ZADD', key, tostring(now), now)
return tostring(1)
"""

# The fourth document's flow as one script: the hit is added before it is judged, so a denied hit still counts.
ADD_FIRST_SCRIPT = """
local now, period, max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - period * 1000)
local count = redis.call('ZCARD', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if count <= max then return 1 end
return 0
"""

# The fifth document's script: window first, then now, in seconds; the key outlives the window by one second.
SECONDS_SCRIPT = """
local oldest = tonumber(ARGV[2]) - tonumber(ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], 0, oldest)
local held = redis.call("ZCARD", KEYS[1])
if held >= tonumber(ARGV[3]) then return 0 end
redis.call("ZADD", KEYS[1], ARGV[2], ARGV[2])
redis.call("EXPIRE", KEYS[1], ARGV[1] + 1)
return 1
"""

HASH_TAG_KEY = "rate_limit:{user_123}:/api/login"


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def judge(reply, allowed, denied):
    """Only the exact reply is a decision: 1 where "1" is due is a wrong type, and is printed as what it is."""
    for want, word in ((allowed, ALLOW), (denied, DENY)):
        if type(reply) is type(want) and reply == want:
            return word
    return "reply:" + repr(reply).replace(" ", "")


def newest(client, key):
    members = client.zrange(key, -1, -1)
    return text(members[0]) if members else "none"


def commands_seconds(client, key, instants, limit=100, window=60):
    client.delete(key)
    for instant in instants:
        now = instant // 1000
        client.zremrangebyscore(key, 0, now - window)
        decision = DENY
        if client.zcard(key) < limit:
            client.zadd(key, {now: now})
            client.expire(key, window)
            decision = ALLOW
        yield instant, decision, {"zcard": client.zcard(key), "ttl": client.ttl(key)}


def eval_cached(client, script, sha, key, *args):
    """EVALSHA, and EVAL only when the server says NOSCRIPT; tells which of the two answered."""
    try:
        return client.evalsha(sha, 1, key, *args), "evalsha"
    except NoScriptError:
        return client.eval(script, 1, key, *args), "eval"


def script_millis(client, key, instants, window=60_000, threshold=3):
    client.delete(key)
    client.script_flush()
    sha = sha1(MILLIS_SCRIPT.encode()).hexdigest()
    for instant in instants:
        reply, via = eval_cached(client, MILLIS_SCRIPT, sha, key, str(instant), str(window), str(threshold))
        details = {"via": via, "zcard": client.zcard(key), "newest": newest(client, key), "ttl": client.ttl(key)}
        yield instant, judge(reply, b"1", b"0"), details


def pipeline(client, key, instants, period=60, maximum=5):
    client.delete(key)
    for instant in instants:
        with client.pipeline(transaction=True) as pipe:
            pipe.zadd(key, {str(instant): instant})
            pipe.zremrangebyscore(key, 0, instant - period * 1000)
            pipe.zcard(key)
            pipe.expire(key, period)
            _, removed, count, _ = pipe.execute()
        decision = ALLOW if count <= maximum else DENY
        yield instant, decision, {"removed": removed, "zcard": count, "ttl": client.ttl(key)}


def pipeline_lua(client, key, instants, period=60, maximum=5):
    client.delete(key)
    script = client.register_script(ADD_FIRST_SCRIPT)
    for instant in instants:
        reply = script(keys=[key], args=[instant, period, maximum])
        yield instant, judge(reply, 1, 0), {"zcard": client.zcard(key), "ttl": client.ttl(key)}


def script_seconds(client, key, instants, window=10, maximum=100):
    client.delete(key)
    script = client.register_script(SECONDS_SCRIPT)
    for instant in instants:
        reply = script(keys=[key], args=[window, instant // 1000, maximum])
        details = {"zcard": client.zcard(key), "newest": newest(client, key), "ttl": client.ttl(key)}
        yield instant, judge(reply, 1, 0), details


def rolling(client, key, instants, width=5000, maximum=10):
    slices = [f"{key}:{instant // width}" for instant in instants]
    for name in slices:
        client.delete(name)
    for instant, name in zip(instants, slices):
        count = client.incrby(name, 1)
        if count == 1:
            client.expire(name, 6)
        yield instant, ALLOW if count <= maximum else DENY, {"count": count, "ttl": client.ttl(name)}


def hash_tag(client, key, instants):
    """The key is the document's own; only a server that knows CLUSTER KEYSLOT has a slot to print."""
    for instant, decision, details in script_seconds(client, HASH_TAG_KEY, instants, window=10, maximum=5):
        try:
            slot = client.execute_command("CLUSTER KEYSLOT", HASH_TAG_KEY)
        except ResponseError:
            slot = "refused"
        yield instant, decision, {"slot": text(slot), **details}


FLOWS = {
    "commands-seconds": commands_seconds,
    "script-millis": script_millis,
    "pipeline-multi": pipeline,
    "pipeline-collision": pipeline,
    "pipeline-lua": pipeline_lua,
    "script-seconds": script_seconds,
    "rolling": rolling,
    "hash-tag": hash_tag,
}
