import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** What a pooler does with the settings of a session: some drop them silently, others end the connection. */
type Manner = 'drops settings' | 'refuses settings';

/**
 * Starts a proxy before a Postgres that treats the startup message as connection poolers do: only the user and the database reach the server. Returns the
 * address. Source: Postgres's protocol, StartupMessage and ErrorResponse; PgBouncer's ignore_startup_parameters.
 */
export async function startPooler(databaseUrl: string, manner: Manner) {
  const { hostname, port } = new URL(databaseUrl);
  const server = createServer((client) => {
    client.on('error', () => undefined);
    client.once('data', (startup) => {
      const [user = '', database = ''] = ['user', 'database'].map((name) => readParameter(startup, name));
      if (manner === 'refuses settings') {
        client.end(message('E', 'SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: role\0\0'));
        return;
      }
      const upstream = connect(Number(port), hostname);
      upstream.on('error', () => client.destroy());
      upstream.write(message('', `\0\u0003\0\0user\0${user}\0database\0${database}\0\0`));
      client.pipe(upstream).pipe(client);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: ownPort } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${ownPort}` }).href,
    close: () => void server.close(),
  };
}

function readParameter(startup: Buffer, name: string): string {
  const parameters = startup.subarray(8).toString().split('\0');
  const at = parameters.findIndex((each, index) => index % 2 === 0 && each === name);
  return parameters[at + 1] ?? '';
}

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(body, 'latin1');
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length + 4);
  return Buffer.concat([Buffer.from(type), length, bytes]);
}
