import { sha256 } from '../values/json.ts';

// The documents in an archive that verification compares letter by letter.

/** Returns VERIFY.md of an archive: how an auditor checks it without trusting the report. */
export function verifyPage(origin: string, name: string): string {
  return `# How to check this archive

The ledger is \`${origin}\`. Get its public key from the operator on another way than this archive; \`keywarden ledger\` prints it.

On any machine, without the database and without a network:

    keywarden verify ${name} --key 'PUBLIC KEY'

It prints what is proven and what is not. It exits with 0 if everything is proven, with 1 if something contradicts the ledger, and with 3 if something is
not proven.

The ledger also has the export of this archive. The report gives its receipt to an auditor, at /v1/exports/ with the SHA-256 of the archive and /receipt.
Name it beside the archive, and it proves that the whole archive is as it was exported.

Add the public keys of witnesses, and it says whether they cosigned. Name the folder of a copy of the whole ledger beside the archive, and it looks for newer
seals.

The folder docs/verify of Keywarden's source has a second verifier, without code of Keywarden. It checks the receipts, and operations with their seals, with
Go's own packages, which Debian has in golang-go and golang-golang-x-mod-dev. It reads the files of the unpacked archive:

    unzip -d FOLDER ${name}
    GO111MODULE=off GOPATH=/usr/share/gocode go run *.go 'PUBLIC KEY' FOLDER

docs/LEDGER.md describes the formats, and what is not proven.
`;
}

/**
 * The SHA-256 of each text that a version wrote, for a ledger named ORIGIN and an archive named NAME, oldest first. Archives are kept for years, and what is
 * proven stays proven: add the new one when the text changes.
 */
const verifyPages = [
  '3ebc2e1eb04431815ca3535f3a7ab31bea0a4b2981a0303a3d6431da0841a1fa',
  '5d6ecf6b3fc12d504e52893b2519604f7fee6918cdd3be12c04137438712ee06',
  'ec64c0dfdffc20267ebf9c65424907cd76c5865e7a5c45ac3b384565e27cd9ab',
  '9bf95b0673cc83b7a174d858567b260b5905312786ff970cdaf706168a9edb75',
  'c58b8edd0470f615d82dde0908900071136b4d45a0bc07eb8a06d13fff460f47',
  'c19c9eb150c120f577b960e1ee19780c7bf1e624e21a13013dc014318755f373',
  '5195df45d224c9215eaf2bd11cd82578fc13bcad49060b06db2d59b79113d0b3',
  '9e59a618fef9bac13f7838e55f1e01d08e5cce4f21b23d5aa836f4eb42f19271',
];

/** Returns whether a version of Keywarden wrote this page, for this ledger and some archive. A changed page could tell auditors to trust another key. */
export function isVerifyPage(text: string, origin: string): boolean {
  const [, of] = /^# How to check this archive\n\nThe ledger is `([^`]*)`/.exec(text) ?? [];
  const [, name] = / keywarden verify ([\w.-]{1,300}) --key/.exec(text) ?? [];
  if (name === undefined || of !== origin) return false;
  return verifyPages.includes(sha256(text.replace(`\`${origin}\``, '`ORIGIN`').replaceAll(` ${name}`, ' NAME')));
}

/** Returns the file of a policy in an archive of evidence, from its canonical JSON: its name and its text. */
export function policyFile(policy: { usedFrom: string; sha256: string; document: string }): {
  name: string;
  text: string;
} {
  const { usedFrom: used_from, sha256, document } = policy;
  return {
    name: `policies/${used_from.slice(0, 'YYYY-MM-DD'.length)}-${sha256.slice(0, 12)}.json`,
    text: `${JSON.stringify({ used_from, sha256, policy: JSON.parse(document) }, null, 2)}\n`,
  };
}
