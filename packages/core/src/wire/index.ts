export { tokenIdOf, type WireCredential } from './credentials.ts';
export {
  type CredentialKind,
  credentialKinds,
  isKeyKind,
  isRevocable,
  type KeyKind,
  keyKinds,
  type OtherKind,
  otherKinds,
  showsUse,
} from './kinds.ts';
export { unknownTime } from './primitives.ts';
export {
  terminalStatuses,
  unknownCreator,
  type WireCreatedKey,
  type WireKey,
  type WireMember,
  type WireOperation,
  type WireOrganization,
  type WireProject,
  type WireRevokedKey,
} from './schemas.ts';
