# Completion of zlimit-server in bash, made from the table of directives: go test . -run Dist -rewrite
_zlimit_server() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=
  case $previous in
    --acl-pubsub-default) words="allchannels resetchannels" ;;
    --aof-load-truncated) words="yes no" ;;
    --aof-rewrite-incremental-fsync) words="yes no" ;;
    --aof-use-rdb-preamble) words="yes no" ;;
    --appendfsync) words="everysec always no" ;;
    --appendonly) words="yes no" ;;
    --cluster-enabled) words="yes no" ;;
    --cluster-preferred-endpoint-type) words="ip hostname unknown-endpoint" ;;
    --enable-debug-command) words="no yes local" ;;
    --enable-protected-configs) words="no yes local" ;;
    --exit-with-stdin) words="yes no" ;;
    --huge-pages) words="yes no" ;;
    --latency-tracking) words="yes no" ;;
    --load-skip-unsupported) words="yes no" ;;
    --log-format) words="auto text json" ;;
    --loglevel) words="debug verbose notice warning nothing" ;;
    --lua-error-reply-prefix) words="auto always never" ;;
    --maxmemory-policy) words="volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru allkeys-lfu allkeys-random noeviction limiter-aware" ;;
    --no-appendfsync-on-rewrite) words="yes no" ;;
    --protected-mode) words="yes no" ;;
    --rdb-save-incremental-fsync) words="yes no" ;;
    --rdbchecksum) words="yes no" ;;
    --rdbcompression) words="yes no" ;;
    --ready-line) words="yes no" ;;
    --repl-diskless-sync) words="yes no" ;;
    --replica-announced) words="yes no" ;;
    --replica-read-only) words="yes no" ;;
    --replica-serve-stale-data) words="yes no" ;;
    --rl-doctor) words="yes no" ;;
    --rl-door-headers) words="yes no" ;;
    --rl-door-metadata) words="yes no" ;;
    --rl-door-tls) words="yes no" ;;
    --rl-policy-unknown-domain) words="allow refuse" ;;
    --rl-top) words="yes no" ;;
    --stop-writes-on-bgsave-error) words="yes no" ;;
    --supervised) words="no systemd auto" ;;
    --tls-auth-clients) words="no yes optional" ;;
    --tls-cluster) words="yes no" ;;
    --tls-replication) words="yes no" ;;
    --tls-session-caching) words="yes no" ;;
    --upstream-split) words="yes no" ;;
    --check|--check-aof|--check-rdb|--fix|--aclfile|--cluster-config-file|--dir|--logfile|--pidfile|--port-file|--rl-policies|--tls-ca-cert-dir|--tls-ca-cert-file|--tls-cert-file|--tls-client-cert-file|--tls-client-key-file|--tls-key-file|--unixsocket|--upstream-tls-ca-cert-file|--upstream-tls-cert-file|--upstream-tls-key-file)
      COMPREPLY=($(compgen -f -- "$current"))
      return ;;
    --*) [[ $current == -* ]] || return ;;
  esac
  if [[ -z $words && $current != -* ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  [[ -n $words ]] || words="--help --help-all --version --check --check-aof --check-rdb --fix --export --acl-pubsub-default --aclfile --acllog-max-len --aof-load-truncated --aof-rewrite-incremental-fsync --aof-use-rdb-preamble --appenddirname --appendfilename --appendfsync --appendonly --auto-aof-rewrite-min-size --auto-aof-rewrite-percentage --bind --busy-reply-threshold --client-output-buffer-limit --client-query-buffer-limit --cluster-announce-bus-port --cluster-announce-hostname --cluster-announce-ip --cluster-announce-port --cluster-announce-tls-port --cluster-config-file --cluster-enabled --cluster-port --cluster-preferred-endpoint-type --dbfilename --dir --enable-debug-command --enable-protected-configs --exit-with-stdin --failed-logins-per-second --hash-max-listpack-entries --hash-max-listpack-value --huge-pages --hz --io-loops --latency-monitor-threshold --latency-tracking --latency-tracking-info-percentiles --lfu-decay-time --lfu-log-factor --load-skip-unsupported --log-format --logfile --loglevel --lua-error-reply-prefix --lua-memory-limit --masterauth --masteruser --maxclients --maxmemory --maxmemory-clients --maxmemory-eviction-tenacity --maxmemory-policy --maxmemory-samples --metrics-addr --min-replicas-max-lag --min-replicas-to-write --no-appendfsync-on-rewrite --notify-keyspace-events --pidfile --port --port-file --protected-mode --proto-max-bulk-len --rdb-save-incremental-fsync --rdbchecksum --rdbcompression --ready-line --repl-backlog-size --repl-backlog-ttl --repl-diskless-sync --repl-diskless-sync-delay --repl-diskless-sync-max-replicas --repl-ping-replica-period --repl-timeout --replica-announce-ip --replica-announce-port --replica-announced --replica-priority --replica-read-only --replica-serve-stale-data --replicaof --requirepass --rl-doctor --rl-door-headers --rl-door-metadata --rl-door-tls --rl-door-user --rl-grpc-addr --rl-http-addr --rl-log-max-units --rl-max-keys-per-prefix --rl-max-waiting --rl-policies --rl-policy-unknown-domain --rl-stats-prefix --rl-top --rl-top-sampling --save --set-max-intset-entries --shutdown-timeout --slowlog-log-slower-than --slowlog-max-len --stop-writes-on-bgsave-error --supervised --tcp-keepalive --timeout --tls-auth-clients --tls-ca-cert-dir --tls-ca-cert-file --tls-cert-file --tls-ciphers --tls-ciphersuites --tls-client-cert-file --tls-client-key-file --tls-client-key-file-pass --tls-cluster --tls-key-file --tls-key-file-pass --tls-port --tls-protocols --tls-replication --tls-session-cache-timeout --tls-session-caching --tracking-table-max-keys --unixsocket --unixsocketperm --upstream --upstream-announce --upstream-failure --upstream-max-units --upstream-password --upstream-queue --upstream-sentinel-password --upstream-sentinel-user --upstream-split --upstream-timeout --upstream-tls-ca-cert-file --upstream-tls-cert-file --upstream-tls-key-file --upstream-user --upstream-wait --zset-max-listpack-entries --zset-max-listpack-value"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _zlimit_server zlimit-server
