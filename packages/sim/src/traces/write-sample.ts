// `npm run sample`: writes the sample trace anew.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sampleFile, sampleText } from './sample.ts';

mkdirSync(dirname(sampleFile), { recursive: true });
writeFileSync(sampleFile, sampleText());
