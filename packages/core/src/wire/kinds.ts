/** The kinds of API keys. */
export const keyKinds = ['personal', 'organization', 'project'] as const;
export type KeyKind = (typeof keyKinds)[number];

/** What else lets somebody in: credentials of branches, database roles with a password, and who and what a project trusts. */
export const otherKinds = ['branch_credential', 'role', 'project_permission', 'project_member', 'jwks'] as const;
export type OtherKind = (typeof otherKinds)[number];

export const credentialKinds = [...keyKinds, ...otherKinds] as const;
export type CredentialKind = (typeof credentialKinds)[number];

export function isKeyKind(kind: CredentialKind): kind is KeyKind {
  return keyKinds.some((each) => each === kind);
}

/** What Keywarden revokes once a person has approved it; the others are reported, and a person ends them upstream. */
export function isRevocable(kind: CredentialKind): boolean {
  return isKeyKind(kind) || kind === 'branch_credential';
}

/** Of which kinds upstream says when one was last used. */
export function showsUse(kind: CredentialKind): boolean {
  return isRevocable(kind);
}
