import ipaddr from 'ipaddr.js';

/** Returns a test of whole texts against a pattern. `*` matches any run of characters and `?` matches one; case counts. */
export function makeGlobTest(pattern: string): (text: string) => boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, 's');
  return (text) => expression.test(text);
}

/** Returns whether a text is an IPv4 or IPv6 address or CIDR range. An IPv4 address has four decimal parts: others read 10.1 as 10.0.0.1. */
export function isNetwork(text: string): boolean {
  const { IPv4, IPv6 } = ipaddr;
  return text.includes('/')
    ? IPv4.isValidCIDRFourPartDecimal(text) || IPv6.isValidCIDR(text)
    : IPv4.isValidFourPartDecimal(text) || IPv6.isValid(text);
}

/** Returns a test whether an address is in any of the networks. The test returns undefined for a text that is not an address. */
export function makeNetworkTest(networks: string[]): (address: string) => boolean | undefined {
  const parsed = networks.map(parseNetwork);
  return (text) => {
    if (!ipaddr.isValid(text)) return undefined;
    const address = ipaddr.process(text); // treats an IPv4-mapped IPv6 address as IPv4
    return parsed.some(({ address: first, bits }) => address.kind() === first.kind() && address.match(first, bits));
  };
}

/** Returns the network that is one client for limits: an IPv4 address, or 64 bits of an IPv6 address; any other text unchanged. */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`;
}

/** Returns the client's address from the control plane's record of a last use: the first of a chain of proxies. */
export function clientAddress(from: string): string {
  return (from.split(',')[0] ?? '').trim();
}

/** A secret that a request's Authorization header can carry: one word of visible ASCII characters. */
export const secretForm = /^[\x21-\x7e]+$/;

function parseNetwork(text: string) {
  const [address, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : [ipaddr.parse(text), undefined];
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && (bits ?? 128) >= 96)
    return { address: address.toIPv4Address(), bits: (bits ?? 128) - 96 };
  return { address, bits: bits ?? (address.kind() === 'ipv4' ? 32 : 128) };
}
