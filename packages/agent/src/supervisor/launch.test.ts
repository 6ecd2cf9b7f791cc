import { describe, expect, it } from 'vitest';
import { specOf } from '../testing/spec.ts';
import { planLaunch } from './launch.ts';

const user = { name: 'ada', uid: 1000, gid: 100 };
const joins = ['/cg/memory/t/cgroup.procs', '/cg/unified/t/cgroup.procs'];

describe('the chain of a launch', () => {
  it('shows the programs that run as root nothing of the user but his command', () => {
    const spec = specOf(['train', '--lr', '1'], {
      user,
      env: { LD_PRELOAD: 'evil.so', MUSTER_TASK_KEY: 'k' },
    });
    const launch = planLaunch(spec, joins, '/f', '/usr/bin/setpriv');
    expect(Object.keys(launch.env).sort()).toEqual(['MUSTER_TASK_KEY', 'PATH']);
    expect(launch.cwd).toBe('/');
    expect(launch.args.slice(1)).toEqual([
      ...launch.args.slice(1, 2),
      'muster',
      '/f',
      ...joins,
      '--',
      '/usr/bin/setpriv',
      '--reuid=1000',
      '--regid=100',
      '--init-groups',
      '--pdeathsig',
      'KILL',
      '--',
      '/bin/sh',
      '-s',
      '--',
      'train',
      '--lr',
      '1',
    ]);
  });

  it('carries values through the script untouched, whatever they contain', () => {
    const value = `'; rm -rf / #\n$(id) \`id\` "x" \\`;
    const { script } = planLaunch(
      specOf(['true'], { user, env: { A: value } }),
      [],
      '/f',
      '/usr/bin/setpriv',
    );
    expect(script).toContain(`export A=''\\''; rm -rf / #\n$(id) \`id\` "x" \\'\n`);
  });

  it('leaves out variables that a shell refuses to have set', () => {
    const { script } = planLaunch(
      specOf(['true'], { user, env: { UID: '0', OK: '1' } }),
      [],
      '/f',
      '/usr/bin/setpriv',
    );
    expect(script).not.toContain('UID');
    expect(script).toContain("export OK='1'");
  });

  it('becomes the user before the first program where there is no setpriv', () => {
    const launch = planLaunch(specOf(['true'], { user }), joins, '/f', null);
    expect(launch).toMatchObject({
      file: '/bin/sh',
      args: ['-s', '--', 'true'],
      ids: { uid: 1000, gid: 100 },
    });
  });

  it('is short for an agent that is not root', () => {
    const spec = specOf(['true'], { env: { A: '1' }, workdir: '/data' });
    expect(planLaunch(spec, [], '/f', '/usr/bin/setpriv')).toEqual({
      file: '/usr/bin/setpriv',
      args: ['--pdeathsig', 'KILL', '--', 'true'],
      env: { A: '1' },
      cwd: '/data',
      script: null,
      ids: null,
    });
    expect(planLaunch(spec, [], '/f', null)).toMatchObject({ file: 'true', args: [] });
    expect(planLaunch(spec, joins, '/f', null).file).toBe('/bin/sh');
  });
});
