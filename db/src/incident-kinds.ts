/** What an incident may be about, as the constraint of its table has it. */
export const incidentKinds = [
  'used_in_flight',
  'breaker',
  'high_water_mark',
  'rotation_stalled',
  'orphan',
  'job_failed',
  'key_changed',
  'configuration',
  'listing_doubted',
] as const;

export type IncidentKind = (typeof incidentKinds)[number];
