# A zlimit-server for a test, with Ruby's own library only: docs/embedding.md.
require "socket"

class Zlimit
  # A reply that begins with "-".
  class Error < StandardError; end

  def initialize(binary = ENV.fetch("ZLIMIT_SERVER"))
    @io = IO.popen([binary, "--bind", "127.0.0.1", "--port", "0", "--ready-line", "yes",
                    "--exit-with-stdin", "yes", "--enable-debug-command", "yes"], "r+")
    @log = []
    @log << @io.gets until @log.last&.start_with?("ready ") || @io.eof?
    @port = @log.last.to_s[/^ready port=(\d+) /, 1]&.to_i or raise "zlimit-server did not start:\n#{@log.join}"
    @reader = Thread.new { @io.each_line { |line| @log << line } } # or the pipe would be full one day
    @socket = TCPSocket.new("127.0.0.1", @port)
  end

  attr_reader :port

  def call(*args)
    @socket << "*#{args.size}\r\n" << args.map { |a| "$#{a.to_s.bytesize}\r\n#{a}\r\n" }.join
    reply
  end

  def advance(milliseconds) = call("DEBUG", "CLOCK", "ADVANCE", milliseconds)

  def stop
    @socket.close
    @io.close_write # the server ends with its standard input
    @reader.join
    @io.close
  end

  private

  def reply
    type, text = @socket.gets("\r\n", chomp: true).then { |line| [line[0], line[1..]] }
    case type
    when "-" then raise Error, text
    when ":" then text.to_i
    when "$" then text == "-1" ? nil : @socket.read(text.to_i + 2).chomp("\r\n")
    when "*" then text == "-1" ? nil : Array.new(text.to_i) { reply }
    else text
    end
  end
end
