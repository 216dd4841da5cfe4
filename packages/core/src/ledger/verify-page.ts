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

docs/verify/verify.go in Keywarden's source checks the receipts, and operations with their seals, with Go's own packages and has no code of Keywarden. It
checks the files of the unpacked archive:

    unzip -d FOLDER ${name}
    go run verify.go 'PUBLIC KEY' FOLDER

docs/LEDGER.md describes the formats, and what is not proven.
`;
}

/** Returns whether a text is the page of a ledger, for any name of the archive: a changed one could tell auditors to trust another key. */
export function isVerifyPage(text: string, origin: string): boolean {
  const name = /keywarden verify ([\w.-]{1,300}) --key/.exec(text)?.[1];
  return name !== undefined && text === verifyPage(origin, name);
}
