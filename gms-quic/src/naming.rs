//! How a cluster's name appears in TLS: in the protocol that both sides agree on, and in certificates.

/// What every connection between members names, before the cluster's name. The digit is the version of what goes over it.
const LINK: &str = "gms1/";
/// The same for a connection that is made to ask one question.
pub(crate) const CHECK: &str = "gms1?/";
/// What the name in a certificate ends with.
const SUFFIX: &str = ".gms.internal";
/// Bytes of a label of a DNS name.
const LABEL_BYTES_MAX: usize = 63;

/// The protocol (ALPN) of connections between members of `cluster`.
pub(crate) fn link_protocol(cluster: &str) -> Vec<u8> {
    format!("{LINK}{cluster}").into_bytes()
}

/// The protocol (ALPN) of a connection that asks one question.
pub(crate) fn check_protocol(cluster: &str) -> Vec<u8> {
    format!("{CHECK}{cluster}").into_bytes()
}

/// The DNS name that a certificate of a member of `cluster` must bear, such as `orders.gms.internal`.
///
/// Names that are no label of a DNS name as they stand, because of upper case, say, are replaced by a digest: case does
/// not count there, and two clusters must never share a name.
pub fn certificate_name(cluster: &str) -> String {
    let is_label = cluster.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let edges = cluster.starts_with('-') || cluster.ends_with('-') || cluster.starts_with("x--");
    if is_label && !edges && !cluster.is_empty() && cluster.len() <= LABEL_BYTES_MAX {
        return format!("{cluster}{SUFFIX}");
    }
    let digest = blake3::hash(cluster.as_bytes()).to_hex();
    format!("x--{}{SUFFIX}", &digest[..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_stays_and_others_become_digests_that_differ() {
        assert_eq!(certificate_name("orders-2"), "orders-2.gms.internal");
        let odd = ["Orders", "orders ", "x--orders", "-orders", "büro", "a.b", ""];
        let mut names: Vec<_> = odd.iter().map(|name| certificate_name(name)).collect();
        assert!(names.iter().all(|name| name.starts_with("x--") && name.len() == 48), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), odd.len());
    }

    #[test]
    fn connections_for_a_check_name_another_protocol() {
        assert_eq!(link_protocol("orders"), b"gms1/orders");
        assert_eq!(check_protocol("orders"), b"gms1?/orders");
    }
}
