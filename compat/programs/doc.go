// Package programs runs programs that use Redis as they are installed: Bull, bottleneck, Celery, Sidekiq,
// nginx with Lua, and the limiter of LiteLLM's proxy. lab/difftest stands between them and a redis-server,
// records what they send, sends the recording to zlimit-server and to a fresh redis-server, and compares what
// they answer. Nothing of theirs is in this repository. docs/proxies.md has the results.
//
// Debian's packages of nginx and Sidekiq must be installed, as .ci/run does.
package programs
