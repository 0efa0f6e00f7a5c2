//! A member of a chitchat cluster, with the settings that its documentation and tests use: gossip each second, the
//! failure detector's defaults.

use std::time::Duration;

use chitchat::transport::UdpTransport;
use chitchat::{ChitchatConfig, ChitchatId, FailureDetectorConfig, ProtocolVersion, spawn_chitchat};
use gms_bench_peers::{Arguments, Line, now};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Arguments { me, seeds, .. } = Arguments::of_process()?;
    let config = ChitchatConfig {
        chitchat_id: ChitchatId::new(me.to_string(), now(), me),
        cluster_id: "bench".into(),
        gossip_interval: Duration::from_secs(1),
        listen_addr: me,
        seed_nodes: seeds.iter().map(ToString::to_string).collect(),
        failure_detector_config: FailureDetectorConfig::default(),
        marked_for_deletion_grace_period: Duration::from_secs(15 * 60),
        catchup_callback: None,
        extra_liveness_predicate: None,
        protocol_version: ProtocolVersion::V1,
    };
    let handle = spawn_chitchat(config, Vec::new(), &UdpTransport).await?;
    let mut live = handle.with_chitchat(|chitchat| chitchat.live_nodes_watcher()).await;
    loop {
        let others: Vec<_> = live.borrow_and_update().keys().map(|id| id.gossip_advertise_addr).collect();
        Line::of(others.into_iter().chain([me])).print()?;
        live.changed().await?;
    }
}
