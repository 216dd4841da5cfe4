/** The name of a scope in facts and plans: its control plane's number and its own name. */
export function factScope(controlPlane: string, scope: string): string {
  return `${controlPlane}/${scope}`;
}
