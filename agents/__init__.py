"""The living floor: workspace, prompt, model, tools, the turn and the transcript."""
