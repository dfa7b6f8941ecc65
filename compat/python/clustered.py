"""What a client does in a cluster besides the documents' flows. The lines are numbered, not dated."""

from redis.exceptions import RedisClusterException, RedisError

from flows import ALLOW, DENY, text

# A limiter with two keys, which a cluster refuses unless they share a slot.
TWO_KEYS_SCRIPT = """
return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])
"""

# A limiter that uses a key that it does not declare.
FOREIGN_KEY_SCRIPT = """#!lua
return redis.call('INCR', KEYS[1]) + redis.call('INCR', ARGV[1])
"""


def judged(call, *args, **options):
    """Returns whether a call was refused, and with which error."""
    try:
        call(*args, **options)
    except (RedisError, RedisClusterException) as error:
        return "refused", {"error": str(error).replace(" ", "_")}
    return ALLOW, {}


def hear(pubsub, subscribe, publish, read, channel):
    """Returns the message that publish causes."""
    subscribe(channel)
    while (message := read(timeout=60))["type"] not in ("subscribe", "ssubscribe"):
        pass
    publish(channel, "hello")
    while (message := read(timeout=60))["type"] not in ("message", "smessage"):
        pass
    pubsub.close()
    return text(message["data"])


def in_cluster(client, key, _instants):
    here, there = key + ":{a}", key + ":{b}"
    client.delete(here)
    client.delete(there)
    # redis-py refuses before it sends, unless it is told where to send to.
    yield 1, *judged(client.eval, TWO_KEYS_SCRIPT, 2, here, there)
    everywhere = {"target_nodes": client.get_default_node()}
    yield 2, *judged(client.execute_command, "EVAL", TWO_KEYS_SCRIPT, 2, here, there, **everywhere)
    yield 3, *judged(client.eval, FOREIGN_KEY_SCRIPT, 1, here, there)
    yield 4, *judged(client.eval, TWO_KEYS_SCRIPT, 2, here, here + ":more")
    with client.pipeline(transaction=False) as pipe:
        pipe.incr(here)
        pipe.incr(there)
        one, two = pipe.execute()
    yield 5, "pipeline", {"here": one, "there": two}
    pubsub = client.pubsub()
    heard = hear(pubsub, pubsub.subscribe, client.publish, pubsub.get_message, here)
    yield 6, "message", {"text": heard}
    pubsub = client.pubsub()
    heard = hear(pubsub, pubsub.ssubscribe, client.spublish, pubsub.get_sharded_message, here)
    yield 7, "shard-message", {"text": heard}


def ratelimits(client, key, _instants):
    """Commands that only our server has."""
    held = key + ":held"
    client.delete(key)
    client.delete(held)
    calls = [
        ("RL.ALLOW", key, 2, "1h"),
        ("RL.ALLOW", key, 2, "1h"),
        ("RL.ALLOW", key, 2, "1h"),
        ("RL.RESERVE", held, 10, "1h", 8, "HOLD", "1m", "ID", "job"),
        ("RL.RESERVE", held, 10, "1h", 8, "HOLD", "1m", "ID", "other"),
        ("RL.SETTLE", held, "job", 3),
        ("RL.ALLOW", held, 10, "1h", "COST", 7),
    ]
    for number, words in enumerate(calls, 1):
        reply = client.execute_command(*words)
        if len(reply) == 2:
            yield number, "settled", {"units": reply[0]}
        else:
            yield number, ALLOW if reply[0] else DENY, {"remaining": reply[2]}


CLUSTER_FLOWS = {"cluster": in_cluster, "rl": ratelimits}

OURS_ONLY = {"rl"}
