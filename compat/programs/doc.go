// Package programs runs programs that use Redis as they are installed: Bull, bottleneck, Celery, Sidekiq and
// nginx with Lua. lab/difftest stands between them and a redis-server, records what they send, sends the
// recording to zlimit-server and to a fresh redis-server, and compares what they answer. Nothing of theirs is
// in this repository. docs/proxies.md has the results.
//
// Debian's nginx and Sidekiq are looked at if they are installed.
package programs
