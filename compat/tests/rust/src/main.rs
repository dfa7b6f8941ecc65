// docs/clients.md's example in Rust, on a zlimit-server of its own: docs/embedding.md.
use redis::{Client, Connection, RedisResult};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn allow(client: &mut Connection, user: &str) -> RedisResult<bool> {
    let (granted, _limit, _remaining, _retry_after_ms, _reset_after_ms): (i64, i64, i64, i64, i64) =
        redis::cmd("RL.ALLOW").arg(format!("user:{user}")).arg(100).arg("1m").query(client)?;
    Ok(granted > 0)
}

fn main() -> RedisResult<()> {
    let mut server = Command::new(std::env::var("ZLIMIT_SERVER").expect("ZLIMIT_SERVER is not set"))
        .args(["--bind", "127.0.0.1", "--port", "0", "--ready-line", "yes", "--exit-with-stdin", "yes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server does not start");
    let port = BufReader::new(server.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("ready port=")?.split(' ').next().map(str::to_owned))
        .expect("the server is not ready");
    let mut client = Client::open(format!("redis://127.0.0.1:{port}/"))?.get_connection()?;
    for i in 0..=100 {
        assert_eq!(allow(&mut client, "42")?, i < 100, "call {i}");
    }
    Ok(()) // the server ends with its standard input
}
