import { parseDuration } from '../values/time.ts';
import type { Condition } from './condition-schema.ts';

export interface Preset {
  condition: Condition;
  /** The standard that requires it, and where. */
  source: string;
}

export const lasting = (text: string) => ({ text, ms: parseDuration(text) ?? Number.NaN });

/** Returns a condition for keys idle for this time, or never used for this time. Standards on dormant credentials mean both. */
export const dormant = (text: string): Condition => ({
  any: [{ unused_for: lasting(text) }, { never_used_for: lasting(text) }],
});

/** Conditions that published standards require. A preset is data: another standard is another entry. */
export const presets = {
  'cis-controls-5.3': {
    condition: dormant('45d'),
    source:
      'CIS Critical Security Controls v8, safeguard 5.3: dormant accounts are deleted or disabled after 45 days of inactivity',
  },
  'pci-dss-8.2.6': {
    condition: dormant('90d'),
    source: 'PCI DSS v4.0.1, requirement 8.2.6: inactive accounts are removed or disabled within 90 days of inactivity',
  },
  'cis-aws-1.14': {
    condition: { older_than: lasting('90d') },
    source:
      'CIS Amazon Web Services Foundations Benchmark, recommendation 1.14: access keys are rotated every 90 days or less',
  },
  'github-unused-365d': {
    condition: dormant('365d'),
    source: 'GitHub removes personal access tokens that were not used for a year',
  },
} satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;

export const presetNames = Object.keys(presets) as PresetName[];
