# A limiter's window edge, without sleeping.
require "minitest/autorun"
require_relative "zlimit"

class WindowTest < Minitest::Test
  def setup
    @server = Zlimit.new
    @server.call("DEBUG", "CLOCK", "FREEZE")
  end

  def teardown = @server.stop

  def allow = @server.call("RL.ALLOW", "user:42", 3, "10s").first.positive?

  def test_window_edge
    assert_equal [true, true, true, false], Array.new(4) { allow }
    @server.advance(9_999)
    refute allow
    @server.advance(1)
    assert allow
  end

  def test_fault
    @server.call("DEBUG", "FAULT", "INJECT", "LOADING", "ON", "RL.ALLOW")
    assert_raises(Zlimit::Error) { allow }
    assert allow
  end

  def test_backwards
    error = assert_raises(Zlimit::Error) { @server.advance(-1) }
    assert_includes error.message, "milliseconds must be from 0"
  end
end
