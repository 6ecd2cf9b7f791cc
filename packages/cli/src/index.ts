export { Cli, type Globals, type Output, type VersionInfo } from './cli.ts';
export { exit } from './exit-codes.ts';
export { CliFailure, toFailure, usage } from './failure.ts';
export { loadProfiles, type Profile, profilePath, rememberProfile } from './profile/profile-file.ts';
export { type CommandMaker, createProgram, type ExtraCommands } from './program.ts';
export { type CliOptions, runCli } from './run-cli.ts';
export { type InStream, Interrupts, type OutStream, type Terminal } from './terminal.ts';
export { clean } from './text/clean.ts';
export { measured, shortDuration } from './text/time.ts';
