/** Connections to stores. Drivers are loaded on demand: a server's memory is that of what it uses. */
const poolSize = 10;

export async function openPostgres(url: string): Promise<import("pg").Pool> {
  const { default: pg } = await import("pg");
  return new pg.Pool({ connectionString: url, max: poolSize });
}

export async function openMariadb(url: string): Promise<import("mysql2/promise").Pool> {
  const { createPool } = await import("mysql2/promise");
  return createPool({ uri: url, connectionLimit: poolSize });
}

export async function openRedis(url: string): Promise<import("ioredis").Redis> {
  const { Redis } = await import("ioredis");
  return new Redis(url);
}
