/** The same viewer as a page of its own, without TensorBoard's frame around it. */
import { render } from './index';

void render();
