"""Files and a process of others beside the job: are they left alone?"""
