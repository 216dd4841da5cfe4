import ipaddr from 'ipaddr.js';

/** A test of whole texts against a pattern in which `*` stands for any run of characters and `?` for one; case counts. */
export function makeGlobTest(pattern: string): (text: string) => boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, 's');
  return (text) => expression.test(text);
}

type Network = ReturnType<typeof parseNetwork>;

/** Whether a text is an address or a CIDR range, of IPv4 or IPv6. */
export function isNetwork(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text);
}

/** Says of an address whether it lies in any of the networks; undefined for a text that is no address. */
export function makeNetworkTest(networks: string[]): (address: string) => boolean | undefined {
  const parsed = networks.map(parseNetwork);
  return (text) => {
    if (!ipaddr.isValid(text)) return undefined;
    const address = ipaddr.process(text); // an IPv4 address written as IPv6 is that IPv4 address
    return parsed.some((network) => isIn(address, network));
  };
}

/** The client's address in what the control plane says of a last use: the first of a chain of proxies. */
export function clientAddress(from: string): string {
  return (from.split(',')[0] ?? '').trim();
}

function parseNetwork(text: string) {
  const [address, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : [ipaddr.parse(text), undefined];
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && (bits ?? 128) >= 96) {
    return { address: address.toIPv4Address(), bits: (bits ?? 128) - 96 };
  }
  return { address, bits: bits ?? (address.kind() === 'ipv4' ? 32 : 128) };
}

function isIn(address: ReturnType<typeof ipaddr.process>, network: Network): boolean {
  return address.kind() === network.address.kind() && address.match(network.address, network.bits);
}
