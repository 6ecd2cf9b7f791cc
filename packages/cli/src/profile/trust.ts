// Which certificates a server may show. Node knows only the authorities it was built with; an organisation's own are in the
// system's store, or in a file that the profile or MUSTER_CA_FILE names.
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { usage } from '../failure.ts';
import { whyUnreadable } from '../unreadable.ts';

/** Adds to what this process trusts; done before the first connection. */
export function trust(server: string, caFile: string | null): void {
  if (!server.startsWith('https:')) return;
  const own = caFile === null ? [] : [readCaFile(caFile)];
  try {
    setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system'), ...own]);
  } catch (error) {
    // The system's store may hold what Node cannot read; only our own file is a reason to stop.
    if (caFile === null) return;
    throw usage(`${caFile} is not a certificate in PEM form: ${(error as Error).message}`);
  }
}

function readCaFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw usage(`cannot read the certificate file ${path}: ${whyUnreadable(error)}`);
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw usage(`${path} is not a certificate in PEM form; it begins with "-----BEGIN CERTIFICATE-----"`);
  return text;
}
