//! Functions of addresses. An address with a zone (`%eth0`) is none, and one of IPv6 is in no network of IPv4.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use bumpalo::Bump;
use graphtide_graph::value::ValueRef;

use super::{Prepared, constant_text};
use crate::error::ExpressionError;
use crate::expression::{Context, Expression};

/// A network, as its bits and which of them count.
#[derive(Clone, Copy, Debug)]
enum Network {
    V4 { bits: u32, mask: u32 },
    V6 { bits: u128, mask: u128 },
}

impl Network {
    const fn v4(address: [u8; 4], length: u32) -> Self {
        let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
        Self::V4 { bits: u32::from_be_bytes(address) & mask, mask }
    }

    const fn v6(address: u128, length: u32) -> Self {
        let mask = if length == 0 { 0 } else { u128::MAX << (128 - length) };
        Self::V6 { bits: address & mask, mask }
    }

    /// Reads an address, with the length of its prefix or without.
    fn read(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                (address, Some(length.parse().ok()?))
            }
            Some(_) => return None,
            None => (text, None),
        };
        match address.parse().ok()? {
            IpAddr::V4(address) => {
                Some(length.unwrap_or(32)).filter(|length| *length <= 32).map(|length| Self::v4(address.octets(), length))
            }
            IpAddr::V6(address) => {
                Some(length.unwrap_or(128)).filter(|length| *length <= 128).map(|length| Self::v6(address.to_bits(), length))
            }
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4 { bits, mask }, IpAddr::V4(address)) => address.to_bits() & mask == bits,
            (Self::V6 { bits, mask }, IpAddr::V6(address)) => address.to_bits() & mask == bits,
            _ => false,
        }
    }
}

/// RFC 1918 and RFC 4193, and addresses of a link and of the host itself.
const PRIVATE: [Network; 8] = [
    Network::v4([10, 0, 0, 0], 8),
    Network::v4([172, 16, 0, 0], 12),
    Network::v4([192, 168, 0, 0], 16),
    Network::v4([127, 0, 0, 0], 8),
    Network::v4([169, 254, 0, 0], 16),
    Network::v6(0xfc00 << 112, 7),
    Network::v6(0xfe80 << 112, 10),
    Network::v6(1, 128),
];

pub(super) fn prepare_network(arguments: &[Expression], _context: &Context) -> Result<Arc<dyn Prepared>, ExpressionError> {
    let text = constant_text(arguments, 0, "cidr_contains")?;
    match Network::read(text) {
        Some(network) => Ok(Arc::new(network)),
        None => Err(ExpressionError::new(format!("{text:?} is not a network"))),
    }
}

impl Prepared for Network {
    fn apply<'a>(&'a self, arguments: &[ValueRef<'a>]) -> ValueRef<'a> {
        read_address(arguments[1]).map_or(ValueRef::Null, |address| ValueRef::Bool(self.contains(address)))
    }
}

pub(super) fn is_private<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    read_address(arguments[0])
        .map_or(ValueRef::Null, |address| ValueRef::Bool(PRIVATE.iter().any(|network| network.contains(address))))
}

fn read_address(value: ValueRef<'_>) -> Option<IpAddr> {
    let ValueRef::Text(text) = value else { return None };
    if text.contains(':') {
        text.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    } else {
        text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_with_its_first_bits() {
        let contains = |network: &str, address: &str| {
            Network::read(network).zip(address.parse().ok()).map(|(network, address)| network.contains(address))
        };
        assert_eq!(contains("10.1.2.9/31", "10.1.2.8"), Some(true));
        assert_eq!(contains("10.1.2.9/31", "10.1.2.10"), Some(false));
        assert_eq!(contains("0.0.0.0/0", "255.255.255.255"), Some(true));
        assert_eq!(contains("::/0", "::1"), Some(true));
        assert_eq!(contains("10.0.0.0/008", "10.9.9.9"), Some(true));
        assert_eq!(contains("10.0.0.0/8", "::ffff:10.0.0.1"), Some(false));
        for network in ["", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/+8", "10.0.0.0/255.0.0.0", "10.0.0/8"] {
            assert!(Network::read(network).is_none(), "{network}");
        }
    }
}
