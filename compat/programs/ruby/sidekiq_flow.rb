# Runs Sidekiq's client and a process with workers on the server in REDIS_PORT: jobs, one scheduled, one that
# fails and is tried again, a bulk, the sets of its page, and the end of the process.
require 'sidekiq'
require 'sidekiq/api'
require 'sidekiq/cli'
$PROGRAM_NAME = 'sidekiq'
url = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}/0" }
Sidekiq.configure_server { |c| c.redis = url; c.average_scheduled_poll_interval = 0.2 }
Sidekiq.configure_client { |c| c.redis = url }
Sidekiq.options[:poll_interval_average] = 0.2
$done = Queue.new
class Job
  include Sidekiq::Worker
  sidekiq_retry_in { 1 }
  @failed = false
  class << self; attr_accessor :failed; end
  def perform(n)
    if n == 3 && !Job.failed
      Job.failed = true
      raise 'once'
    end
    $done << n
  end
end
4.times { |n| Job.perform_async(n) }
Job.perform_in(0.3, 4)
Sidekiq::Client.push_bulk('class' => Job, 'args' => [[5], [6]])
Sidekiq.options.merge!(concurrency: 2, queues: ['default'], strict: true, environment: 'test', tag: '')
require 'sidekiq/launcher'
launcher = Sidekiq::Launcher.new(Sidekiq.options)
launcher.run
jobs = Array.new(7) { $done.pop }
puts "jobs done: #{jobs.sort.join(' ')}"
s = Sidekiq::Stats.new
puts [s.processed, s.failed, s.enqueued, s.scheduled_size, Sidekiq::Queue.new.latency, Sidekiq::RetrySet.new.size, Sidekiq::ProcessSet.new.size].inspect
Sidekiq::Queue.new.clear
launcher.stop
