// Container images made by hand from Debian's static busybox, as archives that containerd imports: no registry is asked.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const testImage = 'muster.test/busybox:1';
export const pauseImage = 'muster.test/pause:1';

const applets =
  'cat date echo env false grep hostname kill ls mkdir nc nslookup printf sh sleep test touch true wget';

/** Writes the archives into the directory and gives their paths. */
export function writeImages(dir: string): string[] {
  const root = join(dir, 'rootfs');
  for (const name of ['bin', 'tmp', 'etc', 'proc', 'sys', 'dev'])
    mkdirSync(join(root, name), { recursive: true });
  copyFileSync('/bin/busybox', join(root, 'bin', 'busybox'));
  for (const applet of applets.split(' ')) symlinkSync('busybox', join(root, 'bin', applet));
  writeFileSync(join(root, 'etc', 'passwd'), 'root:x:0:0:root:/:/bin/sh\n');
  const layer = join(dir, 'layer.tar');
  execFileSync('tar', ['--owner=0', '--group=0', '--numeric-owner', '-cf', layer, '-C', root, '.']);
  // It lives until it is killed, and takes over what others leave behind.
  const idle = 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait; done';
  const archives = [
    archive(dir, layer, testImage, ['/bin/sh']),
    archive(dir, layer, pauseImage, ['/bin/sh', '-c', idle]),
  ];
  rmSync(root, { recursive: true });
  rmSync(layer);
  return archives;
}

function archive(dir: string, layerFile: string, name: string, entrypoint: readonly string[]): string {
  const layout = join(dir, `image-${name.replace(/[^a-z]/g, '-')}`);
  const blobs = join(layout, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const put = (content: Buffer | object, mediaType: string) => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const digest = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(blobs, digest), bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const type = (kind: string): string => `application/vnd.oci.image.${kind}`;
  const layer = put(readFileSync(layerFile), type('layer.v1.tar'));
  const config = put(
    {
      architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64'],
      os: 'linux',
      config: { Entrypoint: entrypoint, Env: ['PATH=/bin'] },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    },
    type('config.v1+json'),
  );
  const manifest = put(
    { schemaVersion: 2, mediaType: type('manifest.v1+json'), config, layers: [layer] },
    type('manifest.v1+json'),
  );
  const named = { ...manifest, annotations: { 'io.containerd.image.name': name } };
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [named] }));
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  const file = `${layout}.tar`;
  execFileSync('tar', ['-cf', file, '-C', layout, '.']);
  rmSync(layout, { recursive: true });
  return file;
}
