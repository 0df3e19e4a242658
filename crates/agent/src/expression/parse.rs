//! Parses a rule's condition. Errors name the column.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::{End, Prefix, Test};
use airbound_linux::MacAddress;

/// Longest condition, bytes.
const LONGEST: usize = 4096;
/// Deepest nesting.
const DEEPEST: usize = 32;

/// Names of DSCP code points (RFC 2474, 2597, 3246, 5865, 8622).
const CODE_POINTS: [(&str, u8); 24] = [
    ("cs0", 0),
    ("df", 0),
    ("be", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

const PROTOCOLS: [(&str, u8); 7] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmp6", 58), ("sctp", 132), ("udplite", 136), ("esp", 50)];

const WORDS: &str = "udp, tcp, icmp, proto, ip4, ip6, sport, dport, port, saddr, daddr, addr, dscp, station, mark, any, not and (";

/// An error in a condition, and its column, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct ParseExpressionError {
    /// The column, in characters.
    pub column: usize,
    /// The error, and what is allowed.
    pub problem: String,
}

/// A word, a parenthesis, or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    column: usize,
    text: &'a str,
}

impl Token<'_> {
    fn wrong(&self, problem: impl Into<String>) -> ParseExpressionError {
        ParseExpressionError { column: self.column, problem: problem.into() }
    }

    /// The token as shown in an error.
    fn quoted(&self) -> String {
        if self.text.is_empty() {
            return "the end".to_owned();
        }
        let short: String = self.text.chars().take(40).collect();
        let more = if short.len() < self.text.len() { "…" } else { "" };
        format!("\"{}{more}\"", short.escape_debug())
    }

    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut begun: Option<(usize, usize)> = None;
    let mut last = 1;
    for (column, (at, character)) in (1..).zip(text.char_indices()) {
        last = column + 1;
        let is_single = matches!(character, '(' | ')');
        if character.is_whitespace() || is_single {
            if let Some((from, column)) = begun.take() {
                tokens.push(Token { column, text: &text[from..at] });
            }
            if is_single {
                tokens.push(Token { column, text: &text[at..=at] });
            }
        } else if begun.is_none() {
            begun = Some((at, column));
        }
    }
    if let Some((from, column)) = begun {
        tokens.push(Token { column, text: &text[from..] });
    }
    tokens.push(Token { column: last, text: "" });
    tokens
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

pub(super) fn parse(text: &str) -> Result<Test, ParseExpressionError> {
    if text.len() > LONGEST {
        let problem = format!("the condition has {} bytes; allowed are {LONGEST}", text.len());
        return Err(ParseExpressionError { column: 1, problem });
    }
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let test = parser.either(0)?;
    let rest = parser.peek();
    if rest.text.is_empty() {
        Ok(test)
    } else {
        Err(rest.wrong(format!("{} without an opening parenthesis", rest.quoted())))
    }
}

impl<'a> Parser<'a> {
    /// The next token. The last one marks the end and is never consumed.
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token { column: 1, text: "" })
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len().saturating_sub(1));
        token
    }

    /// Terms joined by `or`.
    fn either(&mut self, depth: usize) -> Result<Test, ParseExpressionError> {
        let mut tests = vec![self.all(depth)?];
        while self.peek().is("or") {
            self.next();
            tests.push(self.all(depth)?);
        }
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::Some(tests) })
    }

    /// Terms joined by `and`, written or implied.
    fn all(&mut self, depth: usize) -> Result<Test, ParseExpressionError> {
        let mut tests = vec![self.one(depth)?];
        loop {
            let token = self.peek();
            if token.is("and") {
                self.next();
            } else if token.text.is_empty() || token.is("or") || token.is(")") {
                break;
            }
            tests.push(self.one(depth)?);
        }
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::All(tests) })
    }

    fn one(&mut self, depth: usize) -> Result<Test, ParseExpressionError> {
        let token = self.next();
        if depth > DEEPEST {
            return Err(token.wrong(format!("nesting is deeper than {DEEPEST}")));
        }
        if token.is("(") {
            let inner = self.either(depth + 1)?;
            let end = self.next();
            if !end.is(")") {
                let opened = token.column;
                return Err(end.wrong(format!(
                    "{} instead of the \")\" for the \"(\" in column {opened}",
                    end.quoted()
                )));
            }
            return Ok(inner);
        }
        if token.is("not") {
            return Ok(Test::Not(Box::new(self.one(depth + 1)?)));
        }
        let lower = token.text.to_ascii_lowercase();
        Ok(match lower.as_str() {
            "any" => Test::Any,
            "ip4" | "ip" => Test::Version(4),
            "ip6" => Test::Version(6),
            "udp" | "tcp" => Test::Protocol(protocol(&lower).into_iter().collect()),
            // Covers ICMP of IPv4 and of IPv6.
            "icmp" => Test::Protocol(vec![1, 58]),
            "proto" => Test::Protocol(self.list(
                |part| number_or(part, 255, protocol),
                "a protocol: 0 to 255, or a name such as tcp",
            )?),
            "sport" => self.ports(End::Source)?,
            "dport" => self.ports(End::Destination)?,
            "port" => self.ports(End::Either)?,
            "saddr" => self.addresses(End::Source)?,
            "daddr" => self.addresses(End::Destination)?,
            "addr" => self.addresses(End::Either)?,
            "dscp" => Test::Dscp(self.list(
                |part| number_or(part, 63, code_point),
                "a code point: 0 to 63, or a name such as ef, af41 or cs5",
            )?),
            "station" => Test::Station(self.list(
                |part| part.parse::<MacAddress>().ok(),
                "a hardware address such as 02:00:00:00:01:00",
            )?),
            "mark" => self.mark()?,
            _ => {
                return Err(token.wrong(format!("{} is unexpected; allowed are {WORDS}", token.quoted())));
            }
        })
    }

    /// Values separated by commas, without white space.
    fn list<T>(
        &mut self,
        read: impl Fn(&str) -> Option<T>,
        allowed: &str,
    ) -> Result<Vec<T>, ParseExpressionError> {
        let token = self.next();
        let mut column = token.column;
        let mut values = Vec::new();
        for part in token.text.split(',') {
            match read(part) {
                Some(value) => values.push(value),
                None => {
                    let part = Token { column, text: part };
                    return Err(part.wrong(format!("{} is not {allowed}", part.quoted())));
                }
            }
            column += part.chars().count() + 1;
        }
        Ok(values)
    }

    fn ports(&mut self, end: End) -> Result<Test, ParseExpressionError> {
        Ok(Test::Ports(end, self.list(port_range, "a port, 0 to 65535, or a range such as 5000-5010")?))
    }

    fn addresses(&mut self, end: End) -> Result<Test, ParseExpressionError> {
        Ok(Test::Addresses(end, self.list(prefix, "an address, or a prefix such as 10.0.0.0/8 or fd00::/8")?))
    }

    fn mark(&mut self) -> Result<Test, ParseExpressionError> {
        let token = self.next();
        let (value, mask) = token.text.split_once('/').unwrap_or((token.text, "0xffffffff"));
        match (mark_number(value), mark_number(mask)) {
            (Some(value), Some(mask)) => Ok(Test::Mark { value, mask }),
            _ => Err(token.wrong(format!("{} is not a mark such as 16, 0x10 or 0x10/0xf0", token.quoted()))),
        }
    }
}

/// A number of digits only; the standard library also accepts a sign.
fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn number_or(part: &str, most: u8, name: impl Fn(&str) -> Option<u8>) -> Option<u8> {
    digits::<u8>(part).filter(|number| *number <= most).or_else(|| name(&part.to_ascii_lowercase()))
}

fn protocol(name: &str) -> Option<u8> {
    PROTOCOLS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

fn code_point(name: &str) -> Option<u8> {
    CODE_POINTS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

fn port_range(part: &str) -> Option<RangeInclusive<u16>> {
    let (from, to) = part.split_once('-').unwrap_or((part, part));
    let (from, to) = (digits(from)?, digits(to)?);
    (from <= to).then_some(from..=to)
}

fn prefix(part: &str) -> Option<Prefix> {
    let (address, bits) = match part.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (part, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(width), digits)?;
    (bits <= width).then_some(Prefix { address, bits })
}

fn mark_number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None => digits(text),
    }
}

#[cfg(test)]
#[path = "../../tests/parsers/expression.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).expect_err(text).to_string()
    }

    #[test]
    fn errors_name_the_column() {
        assert_eq!(
            refusal("udp dport 99444"),
            "column 11: \"99444\" is not a port, 0 to 65535, or a range such as 5000-5010"
        );
        assert_eq!(
            refusal("dport 53,x"),
            "column 10: \"x\" is not a port, 0 to 65535, or a range such as 5000-5010"
        );
        assert_eq!(refusal("udp)"), "column 4: \")\" without an opening parenthesis");
        assert_eq!(refusal("(udp"), "column 5: the end instead of the \")\" for the \"(\" in column 1");
        assert!(refusal("").starts_with("column 1: the end is unexpected; allowed are udp"));
        assert!(refusal("udp and").starts_with("column 8: the end is unexpected"));
        assert!(refusal("größe").starts_with("column 1: \"größe\" is unexpected"));
        assert!(refusal("udp dport").starts_with("column 10: the end is not a port"));
        assert_eq!(refusal("mark 0x"), "column 6: \"0x\" is not a mark such as 16, 0x10 or 0x10/0xf0");
        for text in [
            "dport +1",
            "dport 9-3",
            "daddr 10.0.0.0/33",
            "dscp 64",
            "station 2:0:0:0:1:0",
            "station 02:00",
            "mark -1",
        ] {
            assert!(refusal(text).starts_with("column "), "{text}");
        }
        assert_eq!(refusal(&"(".repeat(100)), "column 34: nesting is deeper than 32");
        assert!(refusal(&"x".repeat(5000)).contains("allowed are 4096"));
    }
}
