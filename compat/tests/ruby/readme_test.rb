# The page's example in Ruby, with the gem redis.
require "minitest/autorun"
require "redis"
require_relative "zlimit"

def allow(client, user)
  granted, _limit, _remaining, _retry_after_ms, _reset_after_ms =
    client.call("RL.ALLOW", "user:#{user}", 100, "1m")
  granted.positive?
end

class ReadmeTest < Minitest::Test
  def test_readme
    server = Zlimit.new
    client = Redis.new(port: server.port)
    assert_equal [true] * 100 + [false], Array.new(101) { allow(client, "42") }
  ensure
    client&.close
    server&.stop
  end
end
