import type { Hono } from 'hono';
import { accountOf } from '../access/authenticate.ts';
import { requirePersonal } from '../access/rules.ts';
import type { Env, State } from '../state.ts';
import { renderOrganization } from './organizations.ts';

export function userRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/auth', (c) => {
    const principal = c.get('principal');
    return c.json({
      account_id: accountOf(principal),
      auth_method: principal.kind === 'personal' ? 'api_key_user' : 'api_key_org',
    });
  });

  api.get('/users/me', (c) => {
    const { userId } = requirePersonal(c);
    const user = db.find('user', { id: userId });
    const [name = '', lastName = ''] = String(user?.name).split(' ');
    return c.json({
      id: userId,
      email: user?.email,
      login: user?.email,
      name,
      last_name: lastName,
      image: '',
      plan: 'scale',
      auth_accounts: [],
      active_seconds_limit: 0,
      projects_limit: 1000,
      branches_limit: 500,
      max_autoscaling_limit: 16,
    });
  });

  api.get('/users/me/organizations', (c) => {
    const { userId } = requirePersonal(c);
    const rows = db.all(
      `select o.* from organization o join member m on m.organization_id = o.id
       where m.user_id = ? and m.left_at is null order by o.created_at, o.id`,
      userId,
    );
    return c.json({ organizations: rows.map(renderOrganization) });
  });
}
