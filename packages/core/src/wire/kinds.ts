/** The kinds of API keys. */
export const keyKinds = ['personal', 'organization', 'project'] as const;
export type KeyKind = (typeof keyKinds)[number];

/** Other credentials that give access: branch credentials, database roles with a password, and the people and key sets that a project trusts. */
export const otherKinds = ['branch_credential', 'role', 'project_permission', 'project_member', 'jwks'] as const;
export type OtherKind = (typeof otherKinds)[number];

export const credentialKinds = [...keyKinds, ...otherKinds] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** Returns whether a credential is an API key. */
export function isKeyKind(kind: CredentialKind): kind is KeyKind {
  return keyKinds.some((each) => each === kind);
}

/** Returns whether Keywarden revokes this kind after a person approves it. It only reports the others, and a person revokes them upstream. */
export function isRevocable(kind: CredentialKind): boolean {
  return isKeyKind(kind) || kind === 'branch_credential';
}

/** Returns whether upstream shows when a credential of this kind was last used. */
export function showsUse(kind: CredentialKind): boolean {
  return isRevocable(kind);
}

/** Returns whether upstream shows when a credential of this kind expires. Whether the others expire is not known. */
export function showsExpiry(kind: CredentialKind): boolean {
  return kind === 'branch_credential';
}
