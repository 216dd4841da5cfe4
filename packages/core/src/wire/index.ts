export { tokenIdOf, type WireCredential } from './credentials.ts';
export * from './kinds.ts';
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
