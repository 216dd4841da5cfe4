import { generateKeyPairSync, sign } from 'node:crypto';

/** The beginning and end of validity of a certificate, as in `20300101000000Z`. */
type Validity = [from: string, until: string];

/** Returns a self-signed certificate for one IPv4 address or DNS name, and its key, as PEM texts. Source: RFC 5280. */
export function makeCertificate(host: string, [from, until]: Validity = ['20200101000000Z', '21000101000000Z']) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
  const commonName = der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('test')));
  const name = der(0x30, der(0x31, commonName));
  const isAddress = /^[\d.]+$/.test(host);
  const alternative = isAddress ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host));
  const subjectAltName = der(0x30, Buffer.from('0603551d11', 'hex'), der(0x04, der(0x30, alternative)));
  const body = der(
    0x30,
    der(0xa0, Buffer.from('020102', 'hex')),
    Buffer.from('020101', 'hex'),
    ecdsaWithSha256,
    name,
    der(0x30, der(0x18, Buffer.from(from)), der(0x18, Buffer.from(until))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, subjectAltName)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const base64 = der(0x30, body, ecdsaWithSha256, signature).toString('base64');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Returns a value in the encoding DER: its tag, its length and its parts. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}
