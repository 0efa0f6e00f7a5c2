//! Seeds' syntax, count and addresses, with a resolver that the tests make up.

use std::sync::Mutex;

use super::*;

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn each_form_of_a_seed_is_understood() {
    let table = [
        ("10.0.0.1:7790", Seed::Address(addr("10.0.0.1:7790"))),
        ("[fd00::1]:7790", Seed::Address(addr("[fd00::1]:7790"))),
        ("[::ffff:10.0.0.1]:7790", Seed::Address(addr("10.0.0.1:7790"))),
        ("db-1.example:7790", Seed::Host("db-1.example".into(), 7790)),
        ("dns:gms.internal:7790", Seed::All("gms.internal".into(), 7790)),
    ];
    for (text, seed) in table {
        assert_eq!(Seed::parse(text), Ok(seed));
    }
}

#[test]
fn a_seed_with_wrong_syntax_is_named() {
    for text in ["", "host", "host:", "host:0", "host:99999", ":7790", "fd00::1:7790", "a b:1", "dns:7790"] {
        assert_eq!(Seed::parse(text).unwrap_err().seed, text);
    }
    let error = Seed::parse("0.0.0.0:7790").unwrap_err().to_string();
    assert!(error.starts_with("seed \"0.0.0.0:7790\" is an address that nobody can send to"), "{error}");
}

#[test]
fn seeds_are_counted_once_and_not_where_a_name_stands_for_many() {
    let lookup: Lookup = Arc::new(|name, _| match name {
        "a" => Ok(vec![addr("[fd00::1]:1"), addr("10.0.0.1:1")]),
        "many" => Ok(vec![addr("10.0.0.1:1"), addr("10.0.0.2:1")]),
        _ => Err(io::Error::other("no such name")),
    });
    let count = |texts: &[&str]| {
        let seeds: Vec<_> = texts.iter().map(|t| Seed::parse(t).unwrap()).collect();
        Seed::count(&seeds, &first_look(&seeds, &lookup), addr("10.0.0.9:1").ip())
    };
    assert_eq!(count(&["a:1", "b:1", "a:1", "10.0.0.2:1"]), Some(3));
    assert_eq!(count(&["10.0.0.1:1", "10.0.0.1:1", "a:1"]), Some(1), "all three are one address");
    assert_eq!(count(&["b:1", "c:1"]), Some(2), "nothing says that they are one");
    assert_eq!(count(&["a:1", "dns:many:1"]), None);
}

#[tokio::test]
async fn names_are_resolved_beside_and_again_when_asked() {
    let answers = Arc::new(Mutex::new(vec![
        vec![addr("10.0.0.3:1"), addr("10.0.0.1:1")],
        vec![addr("[fd00::2]:1"), addr("10.0.0.2:1")],
    ]));
    let lookup: Lookup = Arc::new(move |name, _| match name {
        "many" => Ok(answers.lock().unwrap().pop().unwrap_or_default()),
        _ => Err(io::Error::other("no such name")),
    });
    let seeds =
        vec![Seed::Address(addr("10.0.0.1:1")), Seed::All("many".into(), 1), Seed::Host("unknown".into(), 1)];
    let mut resolver = Resolver::start(seeds, addr("10.0.0.9:1").ip(), &lookup).unwrap();
    resolver.wait().await;
    assert_eq!(resolver.addresses(), ["10.0.0.1:1", "[fd00::2]:1", "10.0.0.2:1"].map(addr));
    assert_eq!(resolver.unresolved(), ["unknown:1"]);
    resolver.again();
    resolver.wait().await;
    assert_eq!(resolver.addresses(), ["10.0.0.1:1", "10.0.0.3:1"].map(addr), "each once");
}

#[tokio::test]
async fn a_host_is_one_process_at_an_address_of_the_members_family() {
    let lookup: Lookup = Arc::new(|_, _| Ok(vec![addr("[fd00::2]:1"), addr("10.0.0.2:1")]));
    for (own, expected) in [("10.0.0.9:1", "10.0.0.2:1"), ("[fd00::9]:1", "[fd00::2]:1")] {
        let seeds = vec![Seed::Host("host".into(), 1)];
        let mut resolver = Resolver::start(seeds, addr(own).ip(), &lookup).unwrap();
        resolver.wait().await;
        assert_eq!(resolver.addresses(), [addr(expected)]);
    }
}

#[test]
fn a_first_look_says_what_each_seed_resolves_to() {
    let lookup: Lookup = Arc::new(|name, _| match name {
        "h" => Ok(vec![addr("10.0.0.2:1")]),
        _ => Err(io::Error::other("no such name")),
    });
    let seeds = ["h:1", "nowhere:1", "10.0.0.1:1"].map(|text| Seed::parse(text).unwrap());
    let found = first_look(&seeds, &lookup);
    assert_eq!(found, [vec![addr("10.0.0.2:1")], vec![], vec![addr("10.0.0.1:1")]]);
}
