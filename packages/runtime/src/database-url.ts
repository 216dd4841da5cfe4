/** The modes of sslmode, and the words that `ssl`, its former name, has besides. */
const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
const sslWords = new Map([
  ['sslmode', sslModes],
  ['ssl', [...sslModes, 'true', 'false']],
]);

/**
 * Returns what DATABASE_URL must be instead, without its values; null if the driver does what it says. The driver connects without end to several hosts
 * that are all down, sends settings that it does not know to the server, and takes any sslmode.
 */
export function whyNotDatabaseUrl(address: string): string | null {
  if (!isDecodable(address)) return 'has a % that begins no escape; write a % of the password as %25';
  const [authority = ''] = address.slice(address.indexOf('://') + 3).split(/[/?]/);
  if (decodeURIComponent(authority.slice(authority.lastIndexOf('@') + 1)).includes(','))
    return 'must have one host; point it, or its DNS name, at the primary';
  if (!/^postgres(ql)?:\/\//i.test(address)) return 'must be an address that begins with postgres:// or postgresql://';
  if (!URL.canParse(address))
    return 'must name a host, and its port as a number: postgres://user:password@host:5432/database; Unix sockets are not supported';
  const { searchParams } = new URL(address);
  // The hosts of Postgres show addresses with it.
  if (searchParams.has('channel_binding'))
    return 'may not have channel_binding, which Keywarden cannot do: remove it, and use sslmode=verify-full, which keeps others from the connection, too';
  const [setting, ...others] = searchParams;
  const isValid = setting === undefined || (sslWords.get(setting[0])?.includes(setting[1]) ?? false);
  return isValid && others.length === 0
    ? null
    : `may have one setting after its question mark, which is sslmode: ${sslModes.slice(0, -1).join(', ')} or ${sslModes.at(-1)}`;
}

/** Returns whether each % of an address begins the escape of a character. */
function isDecodable(address: string): boolean {
  try {
    decodeURIComponent(address);
    return true;
  } catch {
    return false; // the only error of decodeURIComponent: a malformed escape
  }
}
