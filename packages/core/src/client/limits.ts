/** At most `max` requests in any window of `windowMs`, `burst` of them at once and the others `intervalMs` apart. */
export interface Budget {
  /** What the requests are counted for: an account, or one of its routes. */
  key: string;
  max: number;
  windowMs: number;
  burst: number;
  intervalMs: number;
}

// The documented limits of an account, in requests. Source: reference/control-plane-api.md.
const perMinute = 700;
const perSecondPerRoute = 40;
const keyCreationPerSecond = 10;

/**
 * How much the travel times of two requests may differ. Windows are counted longer by this time. Otherwise a request sent at the end of a window
 * could arrive together with a delayed one from its beginning.
 */
const travelMs = { minute: 1000, second: 250 };

/** Returns the budgets that a request of a route counts against, for a share (0 to 1) of an account's limits. */
export function budgetsOf(account: string, route: string, share: number): [account: Budget, route: Budget] {
  const perSecond = route === 'POST /organizations/{org_id}/api_keys' ? keyCreationPerSecond : perSecondPerRoute;
  const whole = (max: number) => Math.max(1, Math.floor(max * share));
  return [
    {
      key: account,
      max: whole(perMinute),
      windowMs: 60_000 + travelMs.minute,
      burst: whole(perSecondPerRoute),
      intervalMs: 60_000 / (perMinute * share),
    },
    {
      key: `${account} ${route}`,
      max: whole(perSecond),
      windowMs: 1000 + travelMs.second,
      burst: whole(perSecond),
      intervalMs: 1000 / (perSecond * share),
    },
  ];
}
